/**
 * The pods of a StatefulSet, by what their containers themselves record on their hosts: each writes its UID and the
 * time again and again. Of two pods with one name, the second must not begin before the first has ended.
 */
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isTrue } from '#/api/conditions.ts'
import type { Pod } from '#/api/generated/core/v1.ts'
import { busyboxImage } from '../../../tests/node/test-images.ts'
import type { HostCluster } from '../../../tests/hosts/host-cluster.ts'
import { homeOnHost, program, type HostMachine } from '../../../tests/hosts/host-machine.ts'
import type { TargetCheck } from './target.ts'

export interface PodInstance {
  readonly podName: string
  readonly uid: string
  readonly host: string
  /** Seconds since the machine has started, which all hosts share. */
  readonly firstSeconds: number
  readonly lastSeconds: number
}

const name = 'lonely'
const replicas = 3

export class PodInstances {
  readonly #cluster: HostCluster

  private constructor(cluster: HostCluster) {
    this.#cluster = cluster
  }

  static async start(cluster: HostCluster): Promise<PodInstances> {
    const { machines } = cluster
    const image = await busyboxImage()
    for (const machine of machines) {
      await writeFile(join(machine.home, 'busybox.tar'), image)
      await machine.output(program, 'image', 'load', 'busybox.tar')
    }
    const [first] = machines
    await writeFile(join(first!.home, `${name}.json`), JSON.stringify(statefulSet))
    await first!.kubectl('apply', '-f', `${name}.json`)
    const instances = new PodInstances(cluster)
    await instances.untilReady(first!)
    return instances
  }

  /** As another host sees it. */
  async untilReady(witness: HostMachine): Promise<void> {
    const isReady = ({ metadata, status }: Pod): boolean =>
      metadata?.deletionTimestamp === undefined && isTrue(status?.conditions, 'Ready')
    for (;;) {
      const pods = await listPods(witness)
      if (pods?.length === replicas && pods.every(isReady)) return
      await sleep(pollMs)
    }
  }

  /** Until all pods of a host are being deleted, as another host sees it. */
  async untilEvicted(machine: HostMachine, witness: HostMachine): Promise<void> {
    for (;;) {
      const pods = await listPods(witness, '--field-selector', `spec.nodeName=${machine.name}`)
      if (pods?.every(({ metadata }) => metadata?.deletionTimestamp !== undefined) === true) return
      await sleep(pollMs)
    }
  }

  async check(): Promise<TargetCheck> {
    const instances = (await Promise.all(this.#cluster.machines.map(readInstances))).flat()
    const replaced = instances.length - replicas
    const violations = findOverlaps(instances)
    return { violations, figures: `pod instances         ${instances.length}, ${replaced} replaced` }
  }
}

/** Undefined when the API server does not answer. */
async function listPods(
  witness: HostMachine,
  ...selection: readonly string[]
): Promise<readonly Pod[] | undefined> {
  const { code, stdout } = await witness.tryKubectl(
    'get',
    'pods',
    '-l',
    `app=${name}`,
    ...selection,
    '-o',
    'json',
  )
  return code === 0 ? (JSON.parse(stdout) as { readonly items: readonly Pod[] }).items : undefined
}

/** Pods of one name that have run at the same time. */
export function findOverlaps(instances: readonly PodInstance[]): readonly string[] {
  return instances.flatMap((each, index) =>
    instances
      .slice(index + 1)
      .filter(other => {
        const isOther = other.podName === each.podName && other.uid !== each.uid
        return isOther && other.firstSeconds <= each.lastSeconds && each.firstSeconds <= other.lastSeconds
      })
      .map(
        other =>
          `pod ${each.podName} runs twice: on ${each.host} (${each.uid}) and on ${other.host} (${other.uid})`,
      ),
  )
}

const folderName = 'instances'

async function readInstances({ home, name: host }: HostMachine): Promise<readonly PodInstance[]> {
  const folder = join(home, folderName)
  const files = await readdir(folder).catch(() => [])
  return Promise.all(
    files.map(async file => {
      const [podName = '', uid = ''] = file.split('_')
      const times = (await readFile(join(folder, file), 'utf8')).trim().split('\n').map(Number)
      return { podName, uid, host, firstSeconds: times[0]!, lastSeconds: times.at(-1)! }
    }),
  )
}

const fieldOf = (path: string): object => ({ valueFrom: { fieldRef: { fieldPath: path } } })

const statefulSet = {
  apiVersion: 'apps/v1',
  kind: 'StatefulSet',
  metadata: { name },
  spec: {
    replicas,
    serviceName: name,
    podManagementPolicy: 'Parallel',
    selector: { matchLabels: { app: name } },
    template: {
      metadata: { labels: { app: name } },
      spec: {
        terminationGracePeriodSeconds: 1,
        tolerations: [
          { key: 'node-role.kubernetes.io/control-plane', operator: 'Exists' },
          ...['not-ready', 'unreachable'].map(state => ({
            key: `node.kubernetes.io/${state}`,
            operator: 'Exists',
            effect: 'NoExecute',
            tolerationSeconds: 5,
          })),
        ],
        topologySpreadConstraints: [
          {
            maxSkew: 1,
            topologyKey: 'kubernetes.io/hostname',
            whenUnsatisfiable: 'ScheduleAnyway',
            labelSelector: { matchLabels: { app: name } },
          },
        ],
        containers: [
          {
            name,
            image: 'busybox',
            imagePullPolicy: 'Never',
            env: [
              { name: 'POD', ...fieldOf('metadata.name') },
              { name: 'ID', ...fieldOf('metadata.uid') },
            ],
            command: [
              'sh',
              '-c',
              'while :; do cut -d " " -f 1 /proc/uptime >>/instances/${POD}_$ID; sleep 0.2; done',
            ],
            volumeMounts: [{ name: 'instances', mountPath: '/instances' }],
          },
        ],
        volumes: [
          { name: 'instances', hostPath: { path: `${homeOnHost}/${folderName}`, type: 'DirectoryOrCreate' } },
        ],
      },
    },
  },
}

const pollMs = 500
