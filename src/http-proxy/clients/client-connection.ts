/** What the proxy does with the connections of clients, whatever they speak. */
export interface ClientConnection {
  /** Closes the connection after its requests. */
  drain(): void
  destroy(): void
  /** Checks timeouts. */
  sweep(nowMs: number): void
}
