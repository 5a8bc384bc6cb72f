import { isApiError } from '#/api/errors.ts'
import { messageOf } from '#/base/message-of.ts'
import type { Node, Taint } from '#/api/generated/core/v1.ts'
import type { ResourceSlice } from '#/api/generated/resource/v1.ts'
import type { DescribeContext, Describer } from '../describer.ts'
import type { DescribeWriter } from '../describe-writer.ts'
import { leases, resourceSlices } from '../related-resources.ts'
import { byText } from '../sections/containers.ts'
import { listPods } from '../sections/controlled-pods.ts'
import { describeEventsOf, targetOf } from '../sections/events.ts'
import { describeAnnotations, describeLabels, sortedKeys } from '../sections/metadata.ts'
import { localTime } from '../sections/times.ts'
import { describeNodeResources } from './node-resources.ts'

export const describeNode: Describer<Node> = async (node, context) => {
  const { writer } = context
  const { metadata, spec = {}, status = {} } = node
  const name = metadata.name ?? ''
  const pods = await podsOn(name, context)
  writer.fields(0, [
    ['Name', name],
    ['Roles', rolesOf(node).join(',') || '<none>'],
  ])
  describeLabels(writer, node)
  describeAnnotations(writer, node)
  writer.fields(0, [['CreationTimestamp', localTime(metadata.creationTimestamp, context)]])
  writer.list(0, 'Taints', byText(spec.taints ?? [], ({ effect, key }) => `${effect},${key}`).map(taintText))
  writer.fields(0, [['Unschedulable', spec.unschedulable ?? false]])
  await describeLease(name, context)
  describeConditions(node, context)
  writer.write(0, 'Addresses:\n')
  writer.fields(
    1,
    (status.addresses ?? []).map(({ type, address }) => [type, address]),
  )
  describeAmounts(writer, 'Capacity', status.capacity)
  describeAmounts(writer, 'Allocatable', status.allocatable)
  describeResourceSlices(writer, await resourceSlicesOf(name, context))
  describeSystemInfo(writer, node)
  writer.fields(0, [
    ['PodCIDR', spec.podCIDR || undefined],
    ['PodCIDRs', (spec.podCIDRs ?? []).join(',') || undefined],
    ['ProviderID', spec.providerID || undefined],
  ])
  if (pods) describeNodeResources(node, pods, context)
  else writer.fields(0, [['Pods', 'not authorized']])
  // The kubelet reports events with the name of the node as uid.
  await describeEventsOf([targetOf(node), { ...targetOf(node), uid: name }], context)
}

type Pods = Awaited<ReturnType<typeof listPods>>

/** The pods that have not terminated; undefined if the user may not list them. */
async function podsOn(name: string, context: DescribeContext): Promise<Pods | undefined> {
  const fieldSelector = `spec.nodeName=${name},status.phase!=Failed,status.phase!=Succeeded`
  try {
    return await listPods(context, { fieldSelector })
  } catch (error) {
    if (isApiError(error, 'Forbidden')) return undefined
    throw error
  }
}

const rolePrefix = 'node-role.kubernetes.io/'

function rolesOf({ metadata }: Node): string[] {
  const roles = Object.entries(metadata.labels ?? {}).map(([key, value]) => {
    if (key.startsWith(rolePrefix)) return key.slice(rolePrefix.length)
    return key === 'kubernetes.io/role' ? value : ''
  })
  return [...new Set(roles)].filter(role => role !== '').sort()
}

function taintText({ key, value, effect }: Taint): string {
  if (!value) return effect ? `${key}:${effect}` : key
  return `${key}=${value}:${effect}`
}

async function describeLease(name: string, context: DescribeContext): Promise<void> {
  const { client, writer } = context
  try {
    const { spec } = await client.get(leases, { namespace: 'kube-node-lease', name })
    const { holderIdentity, acquireTime, renewTime } = spec ?? {}
    writer.write(0, 'Lease:\n')
    writer.fields(1, [
      ['HolderIdentity', holderIdentity ?? '<unset>'],
      ['AcquireTime', acquireTime ? localTime(acquireTime, context) : '<unset>'],
      ['RenewTime', renewTime ? localTime(renewTime, context) : '<unset>'],
    ])
  } catch (error) {
    writer.fields(0, [['Lease', `Failed to get lease: ${messageOf(error)}`]])
  }
}

function describeConditions({ status }: Node, context: DescribeContext): void {
  const { writer } = context
  const conditions = status?.conditions ?? []
  if (conditions.length === 0) return
  writer.write(0, 'Conditions:\n')
  writer.rows(1, [
    ['Type', 'Status', 'LastHeartbeatTime', 'LastTransitionTime', 'Reason', 'Message'],
    ['----', '------', '-----------------', '------------------', '------', '-------'],
    ...conditions.map(
      ({ type, status, lastHeartbeatTime, lastTransitionTime, reason = '', message = '' }) => [
        `${type} `,
        `${status} `,
        `${localTime(lastHeartbeatTime, context)} `,
        `${localTime(lastTransitionTime, context)} `,
        `${reason} `,
        message,
      ],
    ),
  ])
}

function describeAmounts(
  writer: DescribeWriter,
  label: string,
  amounts: Readonly<Record<string, string>> | undefined,
): void {
  const names = sortedKeys(amounts)
  if (names.length > 0) writer.write(0, `${label}:\n`)
  writer.fields(
    1,
    names.map(name => [name, amounts?.[name]]),
  )
}

/** Only slices of this node; they are shown if the server has them and the user may list them. */
async function resourceSlicesOf(
  name: string,
  { client }: Pick<DescribeContext, 'client'>,
): Promise<readonly ResourceSlice[]> {
  const list = client.list(resourceSlices, { fieldSelector: `spec.nodeName=${name}` })
  return list.then(({ items }) => items).catch(() => [])
}

/** Maximum number of pools shown. */
const poolsMax = 10

function describeResourceSlices(writer: DescribeWriter, slices: readonly ResourceSlice[]): void {
  if (slices.length === 0) return
  const pools = Map.groupBy(slices, ({ spec }) => `${spec.driver}/${spec.pool.name}`)
  const names = [...pools.keys()].sort()
  writer.write(0, 'Node-Local ResourceSlices:\n')
  writer.rows(1, [
    ['Driver', 'Pool', 'Slices', 'Devices'],
    ['------', '----', '------', '-------'],
    ...names.slice(0, poolsMax).map(name => {
      const pool = pools.get(name) ?? []
      const devices = pool.reduce((sum, { spec }) => sum + (spec.devices?.length ?? 0), 0)
      return [pool[0]?.spec.driver ?? '', pool[0]?.spec.pool.name ?? '', pool.length, devices]
    }),
  ])
  if (names.length > poolsMax) writer.write(1, `...and ${names.length - poolsMax} more pools\n`)
}

function describeSystemInfo(writer: DescribeWriter, { status }: Node): void {
  const info = status?.nodeInfo
  writer.write(0, 'System Info:\n')
  writer.fields(1, [
    ['Machine ID', info?.machineID ?? ''],
    ['System UUID', info?.systemUUID ?? ''],
    ['Boot ID', info?.bootID ?? ''],
    ['Kernel Version', info?.kernelVersion ?? ''],
    ['OS Image', info?.osImage ?? ''],
    ['Operating System', info?.operatingSystem ?? ''],
    ['Architecture', info?.architecture ?? ''],
    ['Container Runtime Version', info?.containerRuntimeVersion ?? ''],
    ['Kubelet Version', info?.kubeletVersion ?? ''],
  ])
}
