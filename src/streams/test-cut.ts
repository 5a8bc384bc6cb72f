/** Splits bytes into pieces of these sizes, repeated. */
export function cut(bytes: Uint8Array, sizes: readonly number[]): Uint8Array[] {
  const pieces: Uint8Array[] = []
  let at = 0
  for (let index = 0; at < bytes.length; index++) {
    const size = sizes[index % sizes.length]!
    pieces.push(bytes.subarray(at, at + size))
    at += size
  }
  return pieces
}
