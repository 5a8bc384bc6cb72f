/** Failed container start, with the reason for the container status. */
export class StartError extends Error {
  readonly reason: string
  /** Set if the container is running and has to be killed. */
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
