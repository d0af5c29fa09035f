/** Serialises a graph as an ONNX model: just enough of protocol buffers to write one. */
import type { Attribute, Constant, DType, Graph, Node, Value } from './graph.ts';

const WIRE = { varint: 0, bytes: 2, fixed32: 5 } as const;
const DATA_TYPE: Readonly<Record<DType, number>> = { f32: 1, i32: 6, i64: 7, bool: 9 };
const IR_VERSION = 9;
const OPSET = 20;
const CONTRIB = 'com.microsoft';
const CONTRIB_OPS = new Set(['FusedMatMul', 'RotaryEmbedding', 'QuickGelu']);
const FLOAT_ATTRIBUTES = new Set(['alpha', 'beta', 'epsilon', 'scale']);
const ATTRIBUTE_TYPE = { float: 1, int: 2, string: 3, ints: 7 } as const;

class ProtoWriter {
  readonly #parts: Uint8Array[] = [];

  varint(field: number, value: number): void {
    this.#tag(field, WIRE.varint);
    this.#varint(BigInt.asUintN(64, BigInt(value)));
  }

  bytes(field: number, value: Uint8Array): void {
    this.#tag(field, WIRE.bytes);
    this.#varint(BigInt(value.length));
    this.#parts.push(value);
  }

  string(field: number, value: string): void {
    this.bytes(field, new TextEncoder().encode(value));
  }

  float(field: number, value: number): void {
    this.#tag(field, WIRE.fixed32);
    const bytes = new Uint8Array(4);
    new DataView(bytes.buffer).setFloat32(0, value, true);
    this.#parts.push(bytes);
  }

  message(field: number, write: (writer: ProtoWriter) => void): void {
    const inner = new ProtoWriter();
    write(inner);
    this.bytes(field, inner.finish());
  }

  finish(): Uint8Array {
    return Buffer.concat(this.#parts);
  }

  #tag(field: number, wire: number): void {
    this.#varint(BigInt(field * 8 + wire));
  }

  #varint(value: bigint): void {
    const bytes: number[] = [];
    let rest = value;
    do {
      const low = Number(rest & 127n);
      rest >>= 7n;
      bytes.push(rest === 0n ? low : low | 128);
    } while (rest !== 0n);
    this.#parts.push(Uint8Array.from(bytes));
  }
}

/** The bytes of a ModelProto. */
export function toOnnx(graph: Graph): Uint8Array {
  const model = new ProtoWriter();
  model.varint(1, IR_VERSION);
  model.message(8, (opset) => writeOpset(opset, '', OPSET));
  model.message(8, (opset) => writeOpset(opset, CONTRIB, 1));
  model.message(7, (writer) => {
    for (const node of graph.nodes) writer.message(1, (inner) => writeNode(inner, node, graph));
    writer.string(2, 'memwriter');
    for (const constant of graph.constants) {
      writer.message(5, (inner) => writeConstant(inner, constant));
    }
    for (const input of graph.inputs) writer.message(11, (inner) => writeValue(inner, input));
    for (const output of graph.outputs) writer.message(12, (inner) => writeValue(inner, output));
  });
  return model.finish();
}

function writeOpset(writer: ProtoWriter, domain: string, version: number): void {
  writer.string(1, domain);
  writer.varint(2, version);
}

function writeNode(writer: ProtoWriter, node: Node, graph: Graph): void {
  for (const input of node.inputs) {
    writer.string(1, input === undefined ? '' : graph.nameOf(input));
  }
  for (const output of node.outputs) writer.string(2, graph.nameOf(output));
  writer.string(4, node.op);
  for (const [name, value] of Object.entries(node.attributes)) {
    writer.message(5, (attribute) => writeAttribute(attribute, name, value));
  }
  if (CONTRIB_OPS.has(node.op)) writer.string(7, CONTRIB);
}

function writeAttribute(writer: ProtoWriter, name: string, value: Attribute): void {
  writer.string(1, name);
  if (typeof value === 'string') {
    writer.string(4, value);
    writer.varint(20, ATTRIBUTE_TYPE.string);
  } else if (typeof value !== 'number') {
    for (const entry of value) writer.varint(8, entry);
    writer.varint(20, ATTRIBUTE_TYPE.ints);
  } else if (FLOAT_ATTRIBUTES.has(name)) {
    writer.float(2, value);
    writer.varint(20, ATTRIBUTE_TYPE.float);
  } else {
    writer.varint(3, value);
    writer.varint(20, ATTRIBUTE_TYPE.int);
  }
}

function writeConstant(writer: ProtoWriter, { value, data }: Constant): void {
  for (const dim of value.shape) writer.varint(1, Number(dim));
  writer.varint(2, DATA_TYPE[value.dtype]);
  writer.string(8, value.name);
  writer.bytes(9, new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
}

function writeValue(writer: ProtoWriter, { name, dtype, shape }: Value): void {
  writer.string(1, name);
  writer.message(2, (type) =>
    type.message(1, (tensor) => {
      tensor.varint(1, DATA_TYPE[dtype]);
      tensor.message(2, (dims) => {
        for (const dim of shape) {
          dims.message(1, (entry) => {
            if (typeof dim === 'string') entry.string(2, dim);
            else entry.varint(1, dim);
          });
        }
      });
    }),
  );
}
