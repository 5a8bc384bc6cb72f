/**
 * A label or field selector that cannot be understood. The message is Kubernetes' and goes to the client as
 * it is.
 */
export class SelectorError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'SelectorError'
  }
}
