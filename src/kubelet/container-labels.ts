/**
 * Labels and annotations of sandboxes and containers. From them a restarted kubelet finds out which pod they
 * belong to and how to stop them, without the API server. The names are Kubernetes', because crictl and log
 * collectors read them.
 */
import { createHash } from 'node:crypto'
import type { Container, LifecycleHandler } from '#/api/generated/core/v1.ts'
import type { KubeletPod } from './kubelet-pod.ts'

type Texts = Readonly<Record<string, string>>

const podName = 'io.kubernetes.pod.name'
const podNamespace = 'io.kubernetes.pod.namespace'
const podUid = 'io.kubernetes.pod.uid'
const containerName = 'io.kubernetes.container.name'

const hash = 'io.kubernetes.container.hash'
const restartCount = 'io.kubernetes.container.restartCount'
const messagePath = 'io.kubernetes.container.terminationMessagePath'
const messagePolicy = 'io.kubernetes.container.terminationMessagePolicy'
const preStopHandler = 'io.kubernetes.container.preStopHandler'
const ports = 'io.kubernetes.container.ports'
const deletionGrace = 'io.kubernetes.pod.deletionGracePeriod'
const terminationGrace = 'io.kubernetes.pod.terminationGracePeriod'

export interface LabelledPod {
  readonly name: string
  readonly namespace: string
  readonly uid: string
  /** Undefined for a sandbox. */
  readonly container?: string
}

export interface AnnotatedContainer {
  readonly hash: string
  readonly restartCount: number
  readonly terminationMessagePath: string
  readonly terminationMessagePolicy: string
  readonly deletionGraceSeconds?: number
  readonly terminationGraceSeconds?: number
  readonly preStop?: LifecycleHandler
}

/** The pod's labels and the labels that identify the pod. */
export function sandboxLabels(pod: KubeletPod): Texts {
  return { ...pod.metadata.labels, ...identity(pod) }
}

export function containerLabels(pod: KubeletPod, container: Container): Texts {
  return { ...identity(pod), [containerName]: container.name }
}

export function containerAnnotations(pod: KubeletPod, container: Container, attempt: number): Texts {
  const { deletionGracePeriodSeconds } = pod.metadata
  const { terminationGracePeriodSeconds } = pod.spec ?? {}
  const { preStop } = container.lifecycle ?? {}
  return {
    [hash]: containerHash(container),
    [restartCount]: String(attempt),
    [messagePath]: container.terminationMessagePath ?? '',
    [messagePolicy]: container.terminationMessagePolicy ?? '',
    ...(deletionGracePeriodSeconds !== undefined && { [deletionGrace]: String(deletionGracePeriodSeconds) }),
    ...(terminationGracePeriodSeconds !== undefined && {
      [terminationGrace]: String(terminationGracePeriodSeconds),
    }),
    ...(preStop && { [preStopHandler]: JSON.stringify(preStop) }),
    ...(container.ports?.length && { [ports]: JSON.stringify(container.ports) }),
  }
}

/** Undefined if the container or sandbox was not created by a kubelet. */
export function podOfLabels(labels: Texts): LabelledPod | undefined {
  const { [podName]: name, [podNamespace]: namespace, [podUid]: uid, [containerName]: container } = labels
  if (!name || !namespace || !uid) return undefined
  return { name, namespace, uid, ...(container !== undefined && { container }) }
}

/** Missing or malformed values are treated as unset. */
export function containerOfAnnotations(annotations: Texts): AnnotatedContainer {
  const deletionGraceSeconds = wholeNumber(annotations[deletionGrace])
  const terminationGraceSeconds = wholeNumber(annotations[terminationGrace])
  const preStop = parseHandler(annotations[preStopHandler])
  return {
    hash: annotations[hash] ?? '',
    restartCount: wholeNumber(annotations[restartCount]) ?? 0,
    terminationMessagePath: annotations[messagePath] ?? '',
    terminationMessagePolicy: annotations[messagePolicy] ?? '',
    ...(deletionGraceSeconds !== undefined && { deletionGraceSeconds }),
    ...(terminationGraceSeconds !== undefined && { terminationGraceSeconds }),
    ...(preStop && { preStop }),
  }
}

/**
 * Changes when a running container has to be replaced. Of the fields that are mutable in a running pod only
 * the image counts, so that new fields in the kubelet or API server restart no containers.
 */
export function containerHash({ name, image = '' }: Container): string {
  return createHash('sha256')
    .update(JSON.stringify([name, image]))
    .digest('hex')
    .slice(0, 16)
}

function identity(pod: KubeletPod): Texts {
  const { name, namespace, uid } = pod.metadata
  return { [podName]: name, [podNamespace]: namespace, [podUid]: uid }
}

function wholeNumber(text: string | undefined): number | undefined {
  return text !== undefined && /^-?[0-9]{1,15}$/.test(text) ? Number(text) : undefined
}

function parseHandler(text: string | undefined): LifecycleHandler | undefined {
  if (text === undefined) return undefined
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}
