/** An invalid label or field selector. The message is Kubernetes' and is returned to the client unchanged. */
export class SelectorError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'SelectorError'
  }
}
