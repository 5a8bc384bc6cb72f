/** Protocol violation by the peer, with the close code (RFC 6455, 7.4.1). */
export class WebSocketError extends Error {
  readonly code: number

  constructor(code: number, message: string) {
    super(message)
    this.name = 'WebSocketError'
    this.code = code
  }
}
