import type { DaemonSet, Deployment, StatefulSet } from '#/api/generated/apps/v1.ts'
import type { JsonObject } from '#/api/text/json-object.ts'
import { quote } from '#/api/text/quote.ts'
import { revisionAnnotation } from './revision.ts'

export interface RolloutStatus {
  /** Lines for the user. */
  readonly text: string
  readonly isDone: boolean
}

/** How far a rollout is. Throws Error if it cannot succeed. */
export type RolloutStatusReader = (object: JsonObject, revision: number) => RolloutStatus

/** Undefined for kinds without rollouts: `Deployment.apps`. */
export function rolloutStatusReaderOf(groupKind: string): RolloutStatusReader | undefined {
  switch (groupKind) {
    case 'Deployment.apps':
    case 'Deployment.extensions':
      return (object, revision) => deploymentStatus(object as unknown as Deployment, revision)
    case 'DaemonSet.apps':
    case 'DaemonSet.extensions':
      return object => daemonSetStatus(object as unknown as DaemonSet)
    case 'StatefulSet.apps':
      return object => statefulSetStatus(object as unknown as StatefulSet)
  }
  return undefined
}

function waiting(text: string): RolloutStatus {
  return { text: `${text}...\n`, isDone: false }
}

function deploymentStatus({ metadata, spec, status = {} }: Deployment, revision: number): RolloutStatus {
  const name = quote(metadata.name ?? '')
  if (revision > 0) {
    const current = Number(metadata.annotations?.[revisionAnnotation] ?? 0)
    if (current !== revision) {
      throw new Error(`desired revision (${revision}) is different from the running revision (${current})`)
    }
  }
  if (Number(metadata.generation ?? 0) > Number(status.observedGeneration ?? 0)) {
    return waiting('Waiting for deployment spec update to be observed')
  }
  const progressing = status.conditions?.find(({ type }) => type === 'Progressing')
  if (progressing?.reason === 'ProgressDeadlineExceeded') {
    throw new Error(`deployment ${name} exceeded its progress deadline`)
  }
  const { replicas = 0, updatedReplicas = 0, availableReplicas = 0 } = status
  const head = `Waiting for deployment ${name} rollout to finish:`
  const wanted = spec?.replicas
  if (wanted !== undefined && updatedReplicas < wanted) {
    return waiting(`${head} ${updatedReplicas} out of ${wanted} new replicas have been updated`)
  }
  if (replicas > updatedReplicas) {
    return waiting(`${head} ${replicas - updatedReplicas} old replicas are pending termination`)
  }
  if (availableReplicas < updatedReplicas) {
    return waiting(`${head} ${availableReplicas} of ${updatedReplicas} updated replicas are available`)
  }
  return { text: `deployment ${name} successfully rolled out\n`, isDone: true }
}

const onlyRollingUpdate = 'rollout status is only available for RollingUpdate strategy type'

function daemonSetStatus({ metadata, spec, status }: DaemonSet): RolloutStatus {
  if (spec?.updateStrategy?.type !== 'RollingUpdate') throw new Error(onlyRollingUpdate)
  if (Number(metadata.generation ?? 0) > Number(status?.observedGeneration ?? 0)) {
    return waiting('Waiting for daemon set spec update to be observed')
  }
  const { updatedNumberScheduled = 0, desiredNumberScheduled = 0, numberAvailable = 0 } = status ?? {}
  const name = quote(metadata.name ?? '')
  const head = `Waiting for daemon set ${name} rollout to finish:`
  if (updatedNumberScheduled < desiredNumberScheduled) {
    return waiting(
      `${head} ${updatedNumberScheduled} out of ${desiredNumberScheduled} new pods have been updated`,
    )
  }
  if (numberAvailable < desiredNumberScheduled) {
    return waiting(`${head} ${numberAvailable} of ${desiredNumberScheduled} updated pods are available`)
  }
  return { text: `daemon set ${name} successfully rolled out\n`, isDone: true }
}

function statefulSetStatus({ metadata, spec, status }: StatefulSet): RolloutStatus {
  const { type, rollingUpdate } = spec?.updateStrategy ?? {}
  if (type !== 'RollingUpdate') throw new Error(onlyRollingUpdate)
  const observed = Number(status?.observedGeneration ?? 0)
  if (observed === 0 || Number(metadata.generation ?? 0) > observed) {
    return waiting('Waiting for statefulset spec update to be observed')
  }
  const { readyReplicas = 0, updatedReplicas = 0, currentReplicas = 0 } = status ?? {}
  const replicas = spec?.replicas
  if (replicas !== undefined && readyReplicas < replicas) {
    return waiting(`Waiting for ${replicas - readyReplicas} pods to be ready`)
  }
  if (rollingUpdate !== undefined) {
    const wanted = (replicas ?? 0) - (rollingUpdate.partition ?? 0)
    if (replicas !== undefined && rollingUpdate.partition !== undefined && updatedReplicas < wanted) {
      const counts = `${updatedReplicas} out of ${wanted} new pods have been updated`
      return waiting(`Waiting for partitioned roll out to finish: ${counts}`)
    }
    return {
      text: `partitioned roll out complete: ${updatedReplicas} new pods have been updated...\n`,
      isDone: true,
    }
  }
  const { updateRevision = '', currentRevision = '' } = status ?? {}
  if (updateRevision !== currentRevision) {
    const counts = `${updatedReplicas} pods at revision ${updateRevision}`
    return waiting(`waiting for statefulset rolling update to complete ${counts}`)
  }
  const counts = `${currentReplicas} pods at revision ${currentRevision}`
  return { text: `statefulset rolling update complete ${counts}...\n`, isDone: true }
}
