/** What hinders a webhook from being asked, or its answer from being understood. What then happens is for it to say. */
export class WebhookCallError extends Error {
  /** As the figures have it. */
  readonly code: number

  constructor(message: string, code: number, options?: ErrorOptions) {
    super(message, options)
    this.name = 'WebhookCallError'
    this.code = code
  }
}
