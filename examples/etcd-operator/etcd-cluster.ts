/** The custom resource: `manifests/crd.yaml` is its definition. */
import type { Condition } from 'k8ts/api/conditions'
import type { KubernetesObject } from 'k8ts/api/metadata'
import { customResource } from 'k8ts/custom-resource'

export interface EtcdCluster extends KubernetesObject {
  readonly spec: EtcdClusterSpec
  readonly status?: EtcdClusterStatus
}

export interface EtcdClusterSpec {
  /** Number of voting members; odd. */
  readonly size: number
  readonly image: string
  /** A member that does not answer for this long is replaced. */
  readonly memberTimeoutSeconds: number
  readonly backup?: BackupPolicy
  /** The snapshot that a new cluster starts with. */
  readonly restore?: { readonly claimName: string; readonly file: string }
}

export interface BackupPolicy {
  /** PersistentVolumeClaim in the namespace of the cluster. */
  readonly claimName: string
  readonly intervalSeconds: number
  /** Number of snapshots kept; the oldest one is overwritten. */
  readonly retained: number
}

export interface EtcdClusterStatus {
  /** Set before the first client can reach the cluster. No member is started with an empty cluster afterwards. */
  readonly bootstrapped?: boolean
  /** Number of voting members. */
  readonly size?: number
  readonly readyMembers?: number
  /** Label selector of the pods, for the scale subresource. */
  readonly selector?: string
  readonly members?: readonly MemberStatus[]
  readonly backup?: BackupStatus
  readonly conditions?: readonly Condition[]
}

export interface MemberStatus {
  readonly name: string
  /** Since when the member does not answer; absent while it does. */
  readonly silentSince?: string
}

export interface BackupStatus {
  readonly lastTime: string
  readonly file: string
  /** The pod that wrote it. */
  readonly pod: string
}

export const etcdClusters = customResource<EtcdCluster>({
  group: 'etcd.example.com',
  version: 'v1',
  kind: 'EtcdCluster',
  plural: 'etcdclusters',
  scope: 'Namespaced',
  shortNames: ['etcd'],
  categories: ['all'],
  subresources: ['status', 'scale'],
})
