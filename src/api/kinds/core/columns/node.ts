/** Table columns of Node. */
import { ageColumn, ageOf, nameColumn, nameOf } from '../../../columns.ts'
import type { Node } from '../../../generated/core/v1.ts'
import type { KindColumns } from '../../../table-columns.ts'
import { textColumn, wideColumn } from '../../make-column.ts'
import type { Unchecked } from '../../validation/unchecked.ts'

export const nodeColumns: KindColumns<Node> = {
  columns: [
    nameColumn,
    textColumn('Status', 'The status of the node.'),
    textColumn('Roles', 'The roles of the node.'),
    ageColumn,
    textColumn('Version', 'Kubelet version.'),
    wideColumn('Internal-IP', 'Internal IP address of the node.'),
    wideColumn('External-IP', 'External IP address of the node.'),
    wideColumn('OS-Image', 'Operating system image of the node.'),
    wideColumn('Kernel-Version', 'Kernel version and architecture.'),
    wideColumn('Container-Runtime', 'Container runtime and its version.'),
  ],
  cells: (node: Unchecked<Node>) => {
    const info = node.status?.nodeInfo ?? {}
    const kernel = info.kernelVersion || '<unknown>'
    return [
      nameOf(node),
      node.spec?.unschedulable === true ? `${readiness(node)},SchedulingDisabled` : readiness(node),
      rolesText(node.metadata?.labels),
      ageOf(node),
      info.kubeletVersion ?? '',
      addressText(node, 'InternalIP'),
      addressText(node, 'ExternalIP'),
      info.osImage || '<unknown>',
      info.architecture ? `${kernel} (${info.architecture})` : kernel,
      info.containerRuntimeVersion || '<unknown>',
    ]
  },
}

function readiness({ status }: Unchecked<Node>): string {
  const ready = status?.conditions?.findLast(condition => condition.type === 'Ready')
  if (ready === undefined) return 'Unknown'
  return ready.status === 'True' ? 'Ready' : 'NotReady'
}

const rolePrefix = 'node-role.kubernetes.io/'

function rolesText(labels: Readonly<Record<string, string>> = {}): string {
  const roles = new Set<string>()
  for (const key of Object.keys(labels)) {
    if (key.startsWith(rolePrefix)) roles.add(key.slice(rolePrefix.length))
    else if (key === 'kubernetes.io/role') roles.add(labels[key] ?? '')
  }
  roles.delete('')
  return [...roles].sort().join(',') || '<none>'
}

function addressText({ status }: Unchecked<Node>, type: string): string {
  const found = status?.addresses?.find(address => address.type === type)
  return found === undefined ? '<none>' : (found.address ?? '')
}
