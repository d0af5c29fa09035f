/** Rotary positions as onnxruntime's contributed operation defines them. */
import type { FloatArray } from './executor.ts';
import { at, floatInput, input, integerInput, type Kernel } from './kernels.ts';

export const rotaryKernels: Readonly<Record<string, Kernel>> = {
  /** x[batch, length, heads · headDim]; one first position for all rows, or one position for each token. */
  RotaryEmbedding: (call) => {
    const x = floatInput(call, 0);
    const { dims } = input(call, 0);
    const cos = floatInput(call, 2);
    const sin = floatInput(call, 3);
    const half = at(input(call, 2).dims, 1);
    const length = at(dims, 1);
    const width = at(dims, 2);
    const positions = integerInput(call, 1);
    const out = call.allocate(x.length);
    for (let start = 0; start < x.length; start += 2 * half) {
      const token = Math.floor(start / width);
      const position =
        positions.length === 1 ? at(positions, 0) + (token % length) : at(positions, token);
      turn({ from: x, to: out, start, half, cos, sin, position });
    }
    return [{ dims, data: out }];
  },
};

interface Turn {
  readonly from: FloatArray;
  readonly to: FloatArray;
  readonly start: number;
  readonly half: number;
  readonly cos: FloatArray;
  readonly sin: FloatArray;
  readonly position: number;
}

/** One head at one position: (a, b) → (a·cos − b·sin, b·cos + a·sin), a and b the two halves. */
function turn({ from, to, start, half, cos, sin, position }: Turn): void {
  for (let i = 0; i < half; i++) {
    const c = at(cos, position * half + i);
    const s = at(sin, position * half + i);
    const a = at(from, start + i);
    const b = at(from, start + half + i);
    to[start + i] = a * c - b * s;
    to[start + half + i] = b * c + a * s;
  }
}
