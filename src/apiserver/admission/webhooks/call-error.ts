/**
 * The webhook could not be called or its response could not be decoded; its failurePolicy decides what
 * happens.
 */
export class WebhookCallError extends Error {
  /** HTTP status code for the webhook metrics. */
  readonly code: number

  constructor(message: string, code: number, options?: ErrorOptions) {
    super(message, options)
    this.name = 'WebhookCallError'
    this.code = code
  }
}
