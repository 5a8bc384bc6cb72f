/** The peer does what the protocol forbids, and no state is left in which to go on. */
export class SpdyError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'SpdyError'
  }
}
