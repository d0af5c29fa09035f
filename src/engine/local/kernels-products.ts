/** Matrix products in plain TypeScript, in register blocks: the fallback's whole speed is here. */
import type { FloatArray, Tensor } from './executor.ts';
import {
  at,
  attribute,
  floatInput,
  input,
  type Kernel,
  type KernelCall,
  product,
} from './kernels.ts';

export const productKernels: Readonly<Record<string, Kernel>> = {
  Gemm: (call) => {
    const flags = call.attributes;
    const a = matrix(call, 0, flags['transA'] === 1);
    const b = matrix(call, 1, flags['transB'] === 1);
    const out = call.allocate(a.rows * b.columns);
    multiplyInto({ a, b, out, offset: 0, alpha: 1 });
    const sum = call.inputs[2];
    if (sum !== undefined) addBroadcast(out, floatInput(call, 2));
    return [{ dims: [a.rows, b.columns], data: out }];
  },
  FusedMatMul: (call) => [batched(call)],
};

interface Matrix {
  readonly data: FloatArray;
  readonly start: number;
  readonly rows: number;
  readonly columns: number;
  readonly rowStride: number;
  readonly columnStride: number;
}

/** The two last axes of an input, seen transposed where asked. */
function matrix(call: KernelCall, index: number, transposed: boolean): Matrix {
  const { dims } = input(call, index);
  const rows = at(dims, dims.length - 2);
  const columns = at(dims, dims.length - 1);
  const data = floatInput(call, index);
  return transposed
    ? { data, start: 0, rows: columns, columns: rows, rowStride: 1, columnStride: columns }
    : { data, start: 0, rows, columns, rowStride: columns, columnStride: 1 };
}

function batched(call: KernelCall): Tensor {
  const a = matrix(call, 0, attribute(call, 'transA') === 1);
  const b = matrix(call, 1, attribute(call, 'transB') === 1);
  const lead = input(call, 0).dims.slice(0, -2);
  const out = call.allocate(product(lead) * a.rows * b.columns);
  const alpha = attribute(call, 'alpha');
  for (let batch = 0; batch < product(lead); batch++) {
    multiplyInto({
      a: { ...a, start: batch * a.rows * a.columns },
      b: { ...b, start: batch * b.rows * b.columns },
      out,
      offset: batch * a.rows * b.columns,
      alpha,
    });
  }
  return { dims: [...lead, a.rows, b.columns], data: out };
}

function addBroadcast(out: FloatArray, sum: FloatArray): void {
  for (let i = 0; i < out.length; i++) {
    out[i] = (out[i] as number) + (sum[i % sum.length] as number);
  }
}

interface Multiplication {
  readonly a: Matrix;
  readonly b: Matrix;
  readonly out: FloatArray;
  readonly offset: number;
  readonly alpha: number;
}

/** out = alpha · a·b, four columns at a time, with both operands copied so that the inner loop reads in order. */
function multiplyInto({ a, b, out, offset, alpha }: Multiplication): void {
  const depth = a.columns;
  const left = packRows(a);
  const width = b.columns;
  const panel = new Float64Array(depth * 4);
  for (let column = 0; column < width; column += 4) {
    const count = Math.min(4, width - column);
    packPanel(panel, b, { column, count });
    for (let row = 0; row < a.rows; row++) {
      let s0 = 0;
      let s1 = 0;
      let s2 = 0;
      let s3 = 0;
      const base = row * depth;
      for (let k = 0, p = 0; k < depth; k++, p += 4) {
        const x = left[base + k] as number;
        s0 += x * (panel[p] as number);
        s1 += x * (panel[p + 1] as number);
        s2 += x * (panel[p + 2] as number);
        s3 += x * (panel[p + 3] as number);
      }
      const to = offset + row * width + column;
      out[to] = alpha * s0;
      if (count > 1) out[to + 1] = alpha * s1;
      if (count > 2) out[to + 2] = alpha * s2;
      if (count > 3) out[to + 3] = alpha * s3;
    }
  }
}

function packRows({ data, start, rows, columns, rowStride, columnStride }: Matrix): Float64Array {
  const packed = new Float64Array(rows * columns);
  for (let row = 0; row < rows; row++) {
    let from = start + row * rowStride;
    for (let k = 0; k < columns; k++, from += columnStride) {
      packed[row * columns + k] = data[from] as number;
    }
  }
  return packed;
}

interface Panel {
  readonly column: number;
  readonly count: number;
}

function packPanel(panel: Float64Array, b: Matrix, { column, count }: Panel): void {
  for (let k = 0; k < b.rows; k++) {
    const from = b.start + k * b.rowStride + column * b.columnStride;
    for (let c = 0; c < 4; c++) {
      panel[k * 4 + c] = c < count ? (b.data[from + c * b.columnStride] as number) : 0;
    }
  }
}
