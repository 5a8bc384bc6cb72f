/** Removes what `load-balancer-announcer.ts` leaves on the links of a machine. */
import type { Linux } from '#/platform/linux.ts'
import { writeIpBatch } from './ip-batch.ts'
import { announcedMetric, readLinkAddresses } from './load-balancer-announcer/link-addresses.ts'
import { planAddressChanges } from './load-balancer-announcer/plan-address-changes.ts'

/** Withdraws all addresses that were announced on this machine under the name. Does nothing if there are none. */
export async function removeAnnouncedAddresses(
  linux: Pick<Linux, 'run'>,
  clusterName: string,
): Promise<void> {
  const links = await readLinkAddresses(linux)
  const metric = announcedMetric(clusterName)
  const { commands } = planAddressChanges({ wanted: [], links, nodeAddresses: [], metric })
  const subject = 'load balancer addresses'
  const error = await writeIpBatch(linux, { program: 'ip', lines: commands, subject })
  if (error) throw error
}
