/** A watch that is being served, for `/debug/watches`. */
export interface ActiveWatch {
  readonly user: string
  readonly userAgent: string
  readonly apiVersion: string
  readonly resource: string
  /** Empty for all namespaces. */
  readonly namespace: string
  readonly labelSelector: string
  readonly fieldSelector: string
  /** Wall time at which the client sent the request. */
  readonly sinceMs: number
  /** Number of events that match the watched resource and have not been read by the client. */
  readonly backlog: number
  /** Number of events and bookmarks sent so far. */
  readonly sent: number
}
