/**
 * The request to end so that another process continues, of another version of k8ts for example: what runs on behalf of
 * the cluster, such as containers, goes on.
 */
export class HandOverRequest extends Error {
  constructor() {
    super('received SIGUSR2: another process continues')
  }
}

/** True if the signal was aborted by a request to hand over. */
export function isHandOver(signal: AbortSignal | undefined): boolean {
  return signal?.reason instanceof HandOverRequest
}
