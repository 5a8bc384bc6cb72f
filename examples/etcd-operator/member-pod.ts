/** The pods and the Service of a cluster. */
import type { Pod, Service } from 'k8ts/api/core/v1'
import { controllerReference, type Stored } from 'k8ts/api/metadata'
import type { EtcdMember } from './etcd-client.ts'
import type { EtcdCluster } from './etcd-cluster.ts'

export const clusterLabel = 'etcd.example.com/cluster'
const roleLabel = 'etcd.example.com/role'
/** The Service selects pods with this label: a seed only gets it when the bootstrap is recorded. */
export const servingLabel = 'etcd.example.com/serving'

const dataFolder = '/var/lib/etcd'
const backupFolder = '/backup'

export function nameOf({ peerUrl }: EtcdMember): string {
  return new URL(peerUrl).hostname.replace(/\..*/, '')
}

export function peerUrlOf(cluster: Stored<EtcdCluster>, name: string): string {
  return `http://${hostOf(cluster, name)}:2380`
}

export function endpointOf({ status }: Pod): string | undefined {
  return status?.podIP === undefined ? undefined : `http://${status.podIP}:2379`
}

export function isMemberPod({ metadata }: Pod): boolean {
  return metadata.labels?.[roleLabel] === 'member'
}

/** Names of the members do not depend on addresses, and exist before a member is ready. */
export function clusterService(cluster: Stored<EtcdCluster>): Service {
  return {
    metadata: metadataOf(cluster, cluster.metadata.name, {}),
    spec: {
      clusterIP: 'None',
      publishNotReadyAddresses: true,
      selector: { [clusterLabel]: cluster.metadata.name, [servingLabel]: 'true' },
      ports: [
        { name: 'client', port: 2379 },
        { name: 'peer', port: 2380 },
      ],
    },
  }
}

/** The first member, with an empty data folder or the snapshot of `spec.restore`. */
export function seedPod(cluster: Stored<EtcdCluster>): Pod {
  const { restore, image } = cluster.spec
  const name = `${cluster.metadata.name}-seed`
  const seed = { id: '', peerUrl: peerUrlOf(cluster, name), isLearner: false }
  const pod = podOf(cluster, name, [...commandOf(cluster, name, [seed]), '--initial-cluster-state=new'])
  if (restore === undefined) return pod
  const command = [
    'etcdctl',
    'snapshot',
    'restore',
    `${backupFolder}/${restore.file}`,
    `--name=${name}`,
    `--data-dir=${dataFolder}/data`,
    `--initial-advertise-peer-urls=${seed.peerUrl}`,
    `--initial-cluster=${name}=${seed.peerUrl}`,
    `--initial-cluster-token=${cluster.metadata.uid}`,
  ]
  const volume = { name: 'backup', persistentVolumeClaim: { claimName: restore.claimName, readOnly: true } }
  const volumeMounts = [dataMount, { name: 'backup', mountPath: backupFolder, readOnly: true }]
  return {
    ...pod,
    spec: {
      ...pod.spec!,
      initContainers: [{ name: 'restore', image, command, env: apiVersion3, volumeMounts }],
      volumes: [...(pod.spec?.volumes ?? []), volume],
    },
  }
}

/** A further member. `members` includes it. */
export function memberPod(cluster: Stored<EtcdCluster>, name: string, members: readonly EtcdMember[]): Pod {
  const command = [...commandOf(cluster, name, members), '--initial-cluster-state=existing']
  const pod = podOf(cluster, name, command)
  return { ...pod, metadata: { ...pod.metadata, labels: { ...pod.metadata.labels, [servingLabel]: 'true' } } }
}

/** Writes a snapshot of one member. The file has its name only when it is complete. */
export function backupPod(
  cluster: Stored<EtcdCluster>,
  { name, file, member }: { readonly name: string; readonly file: string; readonly member: string },
): Pod {
  const { image, backup } = cluster.spec
  const endpoint = `http://${hostOf(cluster, member)}:2379`
  const command = ['etcdctl', `--endpoints=${endpoint}`, 'snapshot', 'save', `${backupFolder}/${file}`]
  return {
    metadata: metadataOf(cluster, name, { [roleLabel]: 'backup' }),
    spec: {
      restartPolicy: 'Never',
      containers: [
        {
          name: 'backup',
          image,
          command,
          env: apiVersion3,
          volumeMounts: [{ name: 'backup', mountPath: backupFolder }],
        },
      ],
      volumes: [{ name: 'backup', persistentVolumeClaim: { claimName: backup?.claimName ?? '' } }],
    },
  }
}

/** The file that a backup pod writes. */
export function backupFileOf({ spec }: Pod): string {
  return spec?.containers[0]?.command?.at(-1)?.replace(`${backupFolder}/`, '') ?? ''
}

/** The default of etcdctl since etcd 3.4. */
const apiVersion3 = [{ name: 'ETCDCTL_API', value: '3' }]

const dataMount = { name: 'data', mountPath: dataFolder }

function podOf(cluster: Stored<EtcdCluster>, name: string, command: readonly string[]): Pod {
  const labels = { [roleLabel]: 'member' }
  const selector = { matchLabels: { [clusterLabel]: cluster.metadata.name } }
  const apart = { labelSelector: selector, topologyKey: 'kubernetes.io/hostname' }
  return {
    metadata: metadataOf(cluster, name, labels),
    spec: {
      hostname: name,
      subdomain: cluster.metadata.name,
      affinity: {
        podAntiAffinity: {
          preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 100, podAffinityTerm: apart }],
        },
      },
      containers: [
        {
          name: 'etcd',
          image: cluster.spec.image,
          command,
          ports: [
            { name: 'client', containerPort: 2379 },
            { name: 'peer', containerPort: 2380 },
          ],
          readinessProbe: { httpGet: { path: '/health', port: 'client' }, periodSeconds: 5 },
          volumeMounts: [dataMount],
        },
      ],
      // The data of a lost pod is lost with it: the member is replaced, and the new one gets the data of the others.
      volumes: [{ name: 'data', emptyDir: {} }],
    },
  }
}

function commandOf(
  cluster: Stored<EtcdCluster>,
  name: string,
  members: readonly EtcdMember[],
): readonly string[] {
  const initialCluster = members.map(member => `${nameOf(member)}=${member.peerUrl}`).join(',')
  return [
    'etcd',
    `--name=${name}`,
    `--data-dir=${dataFolder}/data`,
    '--listen-client-urls=http://0.0.0.0:2379',
    `--advertise-client-urls=http://${hostOf(cluster, name)}:2379`,
    '--listen-peer-urls=http://0.0.0.0:2380',
    `--initial-advertise-peer-urls=${peerUrlOf(cluster, name)}`,
    `--initial-cluster=${initialCluster}`,
    `--initial-cluster-token=${cluster.metadata.uid}`,
  ]
}

function hostOf({ metadata }: Stored<EtcdCluster>, name: string): string {
  return `${name}.${metadata.name}.${metadata.namespace}.svc`
}

function metadataOf(
  cluster: Stored<EtcdCluster>,
  name: string,
  labels: Readonly<Record<string, string>>,
): Pod['metadata'] {
  const { namespace = '', name: clusterName } = cluster.metadata
  return {
    namespace,
    name,
    labels: { [clusterLabel]: clusterName, ...labels },
    ownerReferences: [controllerReference(cluster)],
  }
}
