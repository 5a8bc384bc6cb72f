/** Reads a stream of bytes as a whole. Throws Error, and ends the stream, when it has more than `bytesMax` bytes. */
export async function readAll(pieces: AsyncIterable<Uint8Array>, bytesMax: number): Promise<Buffer> {
  const read: Uint8Array[] = []
  let sizeBytes = 0
  for await (const piece of pieces) {
    sizeBytes += piece.length
    if (sizeBytes > bytesMax) throw new Error(`response exceeds ${bytesMax} bytes`)
    read.push(piece)
  }
  return Buffer.concat(read)
}
