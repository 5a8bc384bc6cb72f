/** Table columns of Pod, PodTemplate and ReplicationController. */
import { ageColumn, ageOf, nameColumn, nameOf, translateTimestampSince } from '../../../columns.ts'
import type { Pod, PodTemplate, ReplicationController } from '../../../generated/core/v1.ts'
import type { Cell, KindColumns, RowCondition } from '../../../table-columns.ts'
import { containerImages, containerNames, isTrue, labelsText } from '../../cell-text.ts'
import { textColumn, wideColumn } from '../../make-column.ts'
import type { Unchecked } from '../../validation/unchecked.ts'
import { podPrintStatus, type PodPrintStatus } from './pod-print-status.ts'
import { replicaColumns } from '../../replica-columns.ts'

export const podColumns: KindColumns<Pod> = {
  columns: [
    nameColumn,
    textColumn('Ready', 'The aggregate readiness state of this pod for accepting traffic.'),
    textColumn('Status', 'The aggregate status of the containers in this pod.'),
    textColumn(
      'Restarts',
      'The number of times the containers in this pod have been restarted and ' +
        'when the last container in this pod has restarted.',
    ),
    ageColumn,
    wideColumn('IP', 'IP address of the pod.'),
    wideColumn('Node', 'Node that the pod is bound to.'),
    wideColumn('Nominated Node', 'Node nominated by preemption.'),
    wideColumn('Readiness Gates', 'Number of satisfied readiness gates out of the total.'),
  ],
  cells: (pod: Unchecked<Pod>) => {
    const summary = podPrintStatus(pod)
    return [
      nameOf(pod),
      `${summary.ready}/${summary.containers}`,
      summary.status,
      restartsCell(summary),
      ageOf(pod),
      pod.status?.podIP || pod.status?.podIPs?.[0]?.ip || '<none>',
      pod.spec?.nodeName || '<none>',
      pod.status?.nominatedNodeName || '<none>',
      gatesText(pod),
    ]
  },
  conditions: ({ status }: Unchecked<Pod>) => {
    if (status?.phase === 'Succeeded') return succeeded
    return status?.phase === 'Failed' ? failed : none
  },
}

function restartsCell({ restarts, lastRestart }: PodPrintStatus): Cell {
  if (restarts === 0 || lastRestart === '') return String(restarts)
  return translateTimestampSince(lastRestart, { prefix: `${restarts} (`, suffix: ' ago)' })
}

function gatesText({ spec, status }: Unchecked<Pod>): string {
  const gates = spec?.readinessGates
  if (gates === undefined || gates.length === 0) return '<none>'
  let open = 0
  for (const { conditionType = '' } of gates) if (isTrue(status?.conditions, conditionType)) open += 1
  return `${open}/${gates.length}`
}

const none: readonly RowCondition[] = []
const succeeded = [completed('Succeeded', 'The pod has completed successfully.')]
const failed = [completed('Failed', 'The pod failed.')]

function completed(reason: string, message: string): RowCondition {
  return { type: 'Completed', status: 'True', reason, message }
}

export const podTemplateColumns: KindColumns<PodTemplate> = {
  columns: [
    nameColumn,
    textColumn('Containers', 'Names of each container in the template.'),
    textColumn('Images', 'Images referenced by each container in the template.'),
    textColumn('Pod Labels', 'Labels of the pod template.'),
  ],
  cells: (object: Unchecked<PodTemplate>) => {
    const { metadata, spec } = object.template ?? {}
    return [
      nameOf(object),
      containerNames(spec?.containers),
      containerImages(spec?.containers),
      labelsText(metadata?.labels),
    ]
  },
}

export const replicationControllerColumns = replicaColumns<ReplicationController>(({ spec }) =>
  labelsText(spec?.selector),
)
