/** Unrecoverable protocol violation by the peer. */
export class SpdyError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'SpdyError'
  }
}
