/** Result of `k8ts why`: the cause of an object's state, what shows it, and what to do about it. */

export interface Diagnosis extends Cause {
  readonly object: ObjectName
  /** What could not be read, and what may be missing for that reason. */
  readonly unread: readonly string[]
}

export interface Cause {
  /** Identifies the kind of cause for programs: `ImagePull`, `QuotaExceeded`. */
  readonly code: CauseCode
  /** One sentence. Names and messages in it come from the cluster and may contain anything. */
  readonly summary: string
  readonly evidence: readonly Evidence[]
  readonly remedies: readonly Remedy[]
}

export type CauseCode =
  | 'AdmissionDenied'
  | 'ClaimPending'
  | 'ContainerConfig'
  | 'CrashLoop'
  | 'Dns'
  | 'Evicted'
  | 'Finalizer'
  | 'Healthy'
  | 'ImagePull'
  | 'Metrics'
  | 'MissingObject'
  | 'NetworkPolicy'
  | 'NoEndpoints'
  | 'NodeGone'
  | 'NodeUnhealthy'
  | 'NotFound'
  | 'NotScheduled'
  | 'OutOfMemory'
  | 'Paused'
  | 'PodSandbox'
  | 'Probe'
  | 'QuotaExceeded'
  | 'Rbac'
  | 'Starting'
  | 'Taint'
  | 'Terminating'
  | 'Unknown'
  | 'Volume'
  | 'WebhookUnavailable'

export interface ObjectName {
  readonly kind: string
  readonly namespace?: string
  readonly name: string
}

export interface Evidence {
  /** `Pod shop/web-0`, `event of ReplicaSet shop/web-1`, `log of container web`. */
  readonly source: string
  readonly text: string
}

export interface Remedy {
  readonly text: string
  /** A line for a shell. Its words are quoted. */
  readonly command?: string
}
