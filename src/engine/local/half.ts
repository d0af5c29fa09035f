/** Half precision as it lies in files: float16 and bfloat16 to and from float32, rounding to nearest even. */

const bits = new Uint32Array(1);
const value = new Float32Array(bits.buffer);

export function float16ToFloat32(half: number): number {
  const sign = half & 0x8000 ? -1 : 1;
  const exponent = (half >> 10) & 0x1f;
  const fraction = half & 0x3ff;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

/** Overflow becomes infinity, as IEEE 754 says; callers that must not overflow check first. */
export function float32ToFloat16(number: number): number {
  value[0] = number;
  const [word = 0] = bits;
  const sign = (word >>> 16) & 0x8000;
  const magnitude = word & 0x7fffffff;
  if (magnitude > 0x7f800000) return sign | 0x7e00;
  if (magnitude >= 0x477ff000) return sign | 0x7c00;
  if (magnitude < 0x38800000) {
    // Subnormal: a whole number of 2^-24, ties to even.
    const scaled = Math.abs(number) * 2 ** 24;
    const floor = Math.floor(scaled);
    const rest = scaled - floor;
    const up = rest > 0.5 || (rest === 0.5 && floor % 2 === 1);
    return sign | (up ? floor + 1 : floor);
  }
  const odd = (magnitude >>> 13) & 1;
  return sign | ((magnitude - 0x38000000 + 0xfff + odd) >>> 13);
}

export function bfloat16ToFloat32(half: number): number {
  bits[0] = half << 16;
  return value[0] as number;
}

export function float32ToBfloat16(number: number): number {
  value[0] = number;
  const [word = 0] = bits;
  if (Number.isNaN(number)) return (word >>> 16) | 0x40;
  return (word + 0x7fff + ((word >>> 16) & 1)) >>> 16;
}
