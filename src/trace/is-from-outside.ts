/** Tells requests from outside the cluster, which begin chains, from those of the cluster's components. */
import type { WriteRecord } from '#/api/write-record.ts'

/** Components of the cluster that send a request without a pass, as for heartbeats, are not outside. */
export function isFromOutside({ origin }: WriteRecord): boolean {
  return origin !== undefined && origin.pass === undefined && !componentUser.test(origin.user)
}

const componentUser = /^system:(node:|kube-|apiserver$|serviceaccount:kube-system:)/
