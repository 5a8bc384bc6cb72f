/** Rules and table columns of `apps`. */
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
import type { Unchecked } from '../validation/unchecked.ts'
import type { GroupRules, KindRules } from '../../kind-rules.ts'
import { daemonSetRules } from './daemon-set-rules.ts'
import { deploymentRules } from './deployment-rules.ts'
import { replicaSetRules } from './replica-set-rules.ts'
import { statefulSetRules } from './stateful-set-rules.ts'
import { invalid, required, type FieldError } from '../../field-error.ts'
import { equalJson } from '../../text/json-value.ts'
import { validateNonNegative } from '../validation/field-checks.ts'

const controllerRevisionRules: KindRules<ControllerRevision> = {
  validate: object => [
    ...validateNonNegative('revision', object.revision),
    ...validateData('data', object.data),
  ],
  validateUpdate: (object, old) => [
    ...validateNonNegative('revision', object.revision),
    ...(equalJson(object.data, old.data) ? [] : [invalid('data', object.data ?? null, 'field is immutable')]),
  ],
}

export const appsRules: GroupRules = {
  ControllerRevision: controllerRevisionRules,
  DaemonSet: daemonSetRules,
  Deployment: deploymentRules,
  ReplicaSet: replicaSetRules,
  StatefulSet: statefulSetRules,
}

const deploymentColumns: KindColumns<Deployment> = {
  columns: [
    nameColumn,
    textColumn('Ready', 'Number of the pod with ready state.'),
    textColumn('Up-to-date', 'Number of pods with the current template.'),
    textColumn('Available', 'Number of available pods.'),
    ageColumn,
    containersColumn,
    imagesColumn,
    selectorColumn,
  ],
  cells: (object: Unchecked<Deployment>) => {
    const { spec, status = {} } = object
    const containers = spec?.template?.spec?.containers
    return [
      nameOf(object),
      `${status.readyReplicas ?? 0}/${spec?.replicas ?? 0}`,
      status.updatedReplicas ?? 0,
      status.availableReplicas ?? 0,
      ageOf(object),
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
    textColumn('Ready', 'Number of the pod with ready state.'),
    ageColumn,
    containersColumn,
    imagesColumn,
  ],
  cells: (object: Unchecked<StatefulSet>) => {
    const { spec, status } = object
    const containers = spec?.template?.spec?.containers
    return [
      nameOf(object),
      `${status?.readyReplicas ?? 0}/${spec?.replicas ?? 0}`,
      ageOf(object),
      containerNames(containers),
      containerImages(containers),
    ]
  },
}

const daemonSetColumns: KindColumns<DaemonSet> = {
  columns: [
    nameColumn,
    integerColumn('Desired', 'Number of nodes that should run a daemon pod.'),
    integerColumn('Current', 'Number of nodes that run a daemon pod.'),
    integerColumn('Ready', 'Number of nodes that run a ready daemon pod.'),
    integerColumn('Up-to-date', 'Number of nodes that run an updated daemon pod.'),
    integerColumn('Available', 'Number of nodes that run an available daemon pod.'),
    textColumn('Node Selector', 'Node selector of the pod template.'),
    ageColumn,
    containersColumn,
    imagesColumn,
    selectorColumn,
  ],
  cells: (object: Unchecked<DaemonSet>) => {
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
      ageOf(object),
      containerNames(pod?.containers),
      containerImages(pod?.containers),
      selectorText(spec?.selector),
    ]
  },
}

const controllerRevisionColumns: KindColumns<ControllerRevision> = {
  columns: [
    nameColumn,
    textColumn('Controller', 'Controller of the revision.'),
    textColumn('Revision', 'Revision number.'),
    ageColumn,
  ],
  cells: (object: Unchecked<ControllerRevision>) => [
    nameOf(object),
    controllerText(object),
    object.revision ?? 0,
    ageOf(object),
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

/** `data` may be any JSON when decoded; only objects are valid. */
function validateData(field: string, data: unknown): FieldError[] {
  if (data === undefined || data === null) return [required(field, 'data is mandatory')]
  const isObject = typeof data === 'object' && !Array.isArray(data)
  return isObject ? [] : [required(field, 'data must be a valid JSON object')]
}
