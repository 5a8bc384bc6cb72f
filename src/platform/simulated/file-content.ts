/** The bytes of a simulated file, and the changes to them. */

/** Unit of disk writes. */
export const sectorBytes = 512

/** Fills the gap with zeros if it begins after the end. Without bytes it has no effect. */
export interface FileWrite {
  readonly type: 'write'
  readonly positionBytes: number
  readonly bytes: Uint8Array
}

export type FileChange =
  | FileWrite
  /** Cuts the content, or adds zeros to it. */
  | { readonly type: 'truncate'; readonly sizeBytes: number }
  /** Adds zeros if the content is shorter. */
  | { readonly type: 'extend'; readonly sizeBytes: number }

export class FileContent {
  /** The first `#sizeBytes` are the content; the rest is spare capacity and all zeros. */
  #buffer: Uint8Array
  #sizeBytes: number

  constructor(bytes: Uint8Array) {
    this.#buffer = Uint8Array.from(bytes)
    this.#sizeBytes = bytes.length
  }

  get sizeBytes(): number {
    return this.#sizeBytes
  }

  /** A copy of the bytes that are there. */
  read(positionBytes = 0, lengthBytes = this.#sizeBytes): Uint8Array {
    return this.#buffer.slice(positionBytes, Math.min(positionBytes + lengthBytes, this.#sizeBytes))
  }

  apply(change: FileChange): void {
    switch (change.type) {
      case 'write':
        if (change.bytes.length === 0) return
        this.#extend(change.positionBytes + change.bytes.length)
        this.#buffer.set(change.bytes, change.positionBytes)
        break
      case 'truncate':
        this.#buffer.fill(0, Math.min(change.sizeBytes, this.#sizeBytes), this.#sizeBytes)
        this.#sizeBytes = Math.min(change.sizeBytes, this.#sizeBytes)
        this.#extend(change.sizeBytes)
        break
      case 'extend':
        this.#extend(change.sizeBytes)
        break
    }
  }

  #extend(sizeBytes: number): void {
    if (sizeBytes > this.#buffer.length) {
      const grown = new Uint8Array(Math.max(sizeBytes, 2 * this.#buffer.length, sectorBytes))
      grown.set(this.#buffer)
      this.#buffer = grown
    }
    this.#sizeBytes = Math.max(this.#sizeBytes, sizeBytes)
  }
}
