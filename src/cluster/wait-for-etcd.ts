/** Waits until an etcd member that was started is part of a quorum. */
import { repeatUntilDone, type EtcdOperation } from './etcd-operation.ts'

export interface WaitForEtcdOptions extends EtcdOperation {
  /** The URL of the member. */
  readonly endpoint: string
  /** The log of the member's process, for the error. */
  readonly logPath: string
}

/** Resolves when a linearizable read through the member works. A learner does not answer reads: promote it first. */
export async function waitForEtcd(options: WaitForEtcdOptions): Promise<void> {
  const { members, endpoint, logPath, signal } = options
  await repeatUntilDone(options, {
    what: `read from etcd at ${endpoint}`,
    passing: ['unavailable', 'no-quorum'],
    attempt: () => members.read(endpoint, signal),
    hint: `its log is ${logPath}`,
  })
}
