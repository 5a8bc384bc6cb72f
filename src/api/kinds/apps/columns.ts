/** Table columns for `apps`. */
import { ageColumn, ageOf, nameColumn, nameOf } from '../../columns.ts'
import type {
  ControllerRevision,
  DaemonSet,
  Deployment,
  ReplicaSet,
  StatefulSet,
} from '../../generated/apps/v1.ts'
import type { GroupColumns, KindColumns } from '../../table-columns.ts'
import { containerImages, containerNames, labelsText, selectorText, withGroup } from '../cell-text.ts'
import { containersColumn, imagesColumn, integerColumn, selectorColumn, textColumn } from '../make-column.ts'
import { replicaColumns } from '../replica-columns.ts'
import type { Unchecked } from '../unchecked.ts'

const deploymentColumns: KindColumns<Deployment> = {
  columns: [
    nameColumn,
    textColumn('Ready', 'How many pods are ready, of how many there should be.'),
    textColumn('Up-to-date', 'How many pods are made from the present template.'),
    textColumn('Available', 'How many pods have been ready for long enough.'),
    ageColumn,
    containersColumn,
    imagesColumn,
    selectorColumn,
  ],
  cells: (object: Unchecked<Deployment>, nowMs) => {
    const { spec, status = {} } = object
    const containers = spec?.template?.spec?.containers
    return [
      nameOf(object),
      `${status.readyReplicas ?? 0}/${spec?.replicas ?? 0}`,
      status.updatedReplicas ?? 0,
      status.availableReplicas ?? 0,
      ageOf(object, nowMs),
      containerNames(containers),
      containerImages(containers),
      deploymentSelectorText(object),
    ]
  },
}

const replicaSetColumns = replicaColumns<ReplicaSet>(({ spec }) => selectorText(spec?.selector))

const statefulSetColumns: KindColumns<StatefulSet> = {
  columns: [
    nameColumn,
    textColumn('Ready', 'How many pods are ready, of how many there should be.'),
    ageColumn,
    containersColumn,
    imagesColumn,
  ],
  cells: (object: Unchecked<StatefulSet>, nowMs) => {
    const { spec, status } = object
    const containers = spec?.template?.spec?.containers
    return [
      nameOf(object),
      `${status?.readyReplicas ?? 0}/${spec?.replicas ?? 0}`,
      ageOf(object, nowMs),
      containerNames(containers),
      containerImages(containers),
    ]
  },
}

const daemonSetColumns: KindColumns<DaemonSet> = {
  columns: [
    nameColumn,
    integerColumn('Desired', 'How many nodes should run a pod.'),
    integerColumn('Current', 'How many of these nodes have a pod.'),
    integerColumn('Ready', 'How many of these nodes have a pod that is ready.'),
    integerColumn('Up-to-date', 'How many of these nodes have a pod made from the present template.'),
    integerColumn('Available', 'How many of these nodes have a pod that has been ready for long enough.'),
    textColumn('Node Selector', 'Labels of the nodes that should run a pod.'),
    ageColumn,
    containersColumn,
    imagesColumn,
    selectorColumn,
  ],
  cells: (object: Unchecked<DaemonSet>, nowMs) => {
    const { spec, status = {} } = object
    const pod = spec?.template?.spec
    return [
      nameOf(object),
      status.desiredNumberScheduled ?? 0,
      status.currentNumberScheduled ?? 0,
      status.numberReady ?? 0,
      status.updatedNumberScheduled ?? 0,
      status.numberAvailable ?? 0,
      labelsText(pod?.nodeSelector),
      ageOf(object, nowMs),
      containerNames(pod?.containers),
      containerImages(pod?.containers),
      selectorText(spec?.selector),
    ]
  },
}

const controllerRevisionColumns: KindColumns<ControllerRevision> = {
  columns: [
    nameColumn,
    textColumn('Controller', 'What the revision is one of.'),
    textColumn('Revision', 'The number of the revision.'),
    ageColumn,
  ],
  cells: (object: Unchecked<ControllerRevision>, nowMs) => [
    nameOf(object),
    controllerText(object),
    object.revision ?? 0,
    ageOf(object, nowMs),
  ],
}

/** Unlike in other kinds, a deployment that selects everything has an empty cell. */
function deploymentSelectorText({ spec }: Unchecked<Deployment>): string {
  const text = selectorText(spec?.selector)
  if (text === '<none>') return ''
  return text === '<error>' ? '<invalid>' : text
}

function controllerText({ metadata }: Unchecked<ControllerRevision>): string {
  const owner = metadata?.ownerReferences?.find(reference => reference.controller === true)
  if (owner === undefined) return '<none>'
  const { apiVersion = '', kind = '', name = '' } = owner
  const group = apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : ''
  return `${withGroup(kind, group).toLowerCase()}/${name}`
}

export const appsColumns: GroupColumns = {
  ControllerRevision: controllerRevisionColumns,
  DaemonSet: daemonSetColumns,
  Deployment: deploymentColumns,
  ReplicaSet: replicaSetColumns,
  StatefulSet: statefulSetColumns,
}
