/** Why a container does not run, as its status says it. */
export class StartError extends Error {
  readonly reason: string
  /** It runs after all, and must not. */
  readonly containerId: string | undefined

  constructor(
    reason: string,
    message: string,
    options: { readonly cause: unknown; readonly containerId?: string },
  ) {
    super(message, { cause: options.cause })
    this.name = 'StartError'
    this.reason = reason
    this.containerId = options.containerId
  }
}
