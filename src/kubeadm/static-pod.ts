/**
 * A process of the control plane as a static pod: the manifest that kubeadm writes for it, with the same command line
 * as the process. Probes, ports and volumes follow from the flags, so that `extraArgs` need no counterpart in the pod.
 */
import { dirname } from 'node:path/posix'
import type { Container, Pod, Probe, Volume, VolumeMount } from '#/api/generated/core/v1.ts'
import type { HostProcess } from './host-processes.ts'
import { joinHostPort, type InitSettings } from './init-settings.ts'

/** How the components of the control plane of a host run. */
export type ControlPlaneForm = 'process' | 'static-pod'

export interface StaticPodSettings extends Pick<InitSettings, 'folder' | 'certificatesDir'> {
  /** Reference of the image that has the program, on this host. */
  readonly image: string
}

/** The processes that can run as static pods. */
export const staticPodNames = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler'] as const

type StaticPodName = (typeof staticPodNames)[number]

/** Where a component reports its health. */
export interface HealthEndpoint {
  readonly scheme: 'HTTP' | 'HTTPS'
  readonly host: string
  readonly port: number
  readonly paths: HealthPaths
}

interface HealthPaths {
  readonly liveness: string
  /** The component has started when it succeeds. */
  readonly startup: string
  readonly readiness?: string
}

const componentPaths: HealthPaths = { liveness: '/livez', startup: '/livez', readiness: '/readyz' }

/** etcd before 3.5.11 has only `/health`; a member without a leader or without space need not be restarted. */
const etcdPaths: HealthPaths = {
  liveness: '/health?exclude=NOSPACE&serializable=true',
  startup: '/health?serializable=false',
}

interface StaticPodComponent {
  readonly requests: Readonly<Record<string, string>>
  readonly health: (flag: (name: string) => string | undefined) => HealthEndpoint
  readonly annotations?: (flag: (name: string) => string | undefined) => Readonly<Record<string, string>>
  /** Beyond none: containers are root, but without the capabilities of root. */
  readonly capabilities?: readonly string[]
  readonly folders: (
    settings: StaticPodSettings,
    flag: (name: string) => string | undefined,
  ) => readonly FolderVolume[]
}

interface FolderVolume {
  readonly name: string
  readonly path: string
  readonly isWritten?: true
}

const components: Readonly<Record<StaticPodName, StaticPodComponent>> = {
  'etcd': {
    requests: { cpu: '100m', memory: '100Mi' },
    health: flag => {
      const { hostname, port } = new URL((flag('listen-metrics-urls') ?? '').split(',')[0]!)
      return { scheme: 'HTTP', host: hostname.replace(/^\[|\]$/g, ''), port: Number(port), paths: etcdPaths }
    },
    annotations: flag => ({
      'kubeadm.kubernetes.io/etcd.advertise-client-urls': flag('advertise-client-urls') ?? '',
    }),
    folders: ({ certificatesDir }, flag) => [
      { name: 'etcd-data', path: flag('data-dir') ?? '', isWritten: true },
      { name: 'etcd-certs', path: `${certificatesDir}/etcd` },
    ],
  },
  'kube-apiserver': {
    requests: { cpu: '250m' },
    health: flag => {
      const [host = '', port = ''] = [flag('advertise-address'), flag('port')]
      return { scheme: 'HTTPS', host, port: Number(port), paths: componentPaths }
    },
    annotations: flag => ({
      'kubeadm.kubernetes.io/kube-apiserver.advertise-address.endpoint': joinHostPort(
        flag('advertise-address') ?? '',
        Number(flag('port')),
      ),
    }),
    capabilities: ['NET_BIND_SERVICE'],
    folders: ({ folder, certificatesDir }, flag) => {
      const store = flag('store') === 'embedded' ? ['store', 'snapshots'] : []
      return [
        // It makes the key of the Secrets at rest.
        { name: 'k8s-keys', path: `${folder}/pki`, isWritten: true },
        { name: 'k8s-certs', path: certificatesDir },
        ...[...store, 'history'].map(name => ({ name, path: `${folder}/${name}`, isWritten: true as const })),
      ]
    },
  },
  'kube-controller-manager': {
    requests: { cpu: '200m' },
    health: flag => componentHealth(flag, 10_257),
    folders: ({ certificatesDir }) => [{ name: 'k8s-certs', path: certificatesDir }],
  },
  'kube-scheduler': {
    requests: { cpu: '100m' },
    health: flag => componentHealth(flag, 10_259),
    folders: () => [],
  },
}

function componentHealth(flag: (name: string) => string | undefined, usualPort: number): HealthEndpoint {
  const given = flag('bind-address') ?? '0.0.0.0'
  const host = { '0.0.0.0': '127.0.0.1', '::': '::1' }[given] ?? given
  const port = Number(flag('secure-port') ?? usualPort)
  return { scheme: 'HTTPS', host, port, paths: componentPaths }
}

/** Undefined for a process that is none of the control plane. */
export function healthEndpoint(process: HostProcess): HealthEndpoint | undefined {
  return componentOf(process)?.health(flagsOf(process))
}

/** Throws for a process that is none of the control plane. */
export function planStaticPod(process: HostProcess, settings: StaticPodSettings): Pod {
  const { name } = process
  const component = componentOf(process)
  if (component === undefined) throw new Error(`${name} is no component of the control plane`)
  const flag = flagsOf(process)
  const { volumes, mounts } = planVolumes(process, component.folders(settings, flag))
  const annotations = component.annotations?.(flag)
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      ...(annotations && { annotations }),
      labels: { component: name, tier: 'control-plane' },
      name,
      namespace: 'kube-system',
    },
    spec: {
      containers: [planContainer(process, { component, image: settings.image, mounts })],
      hostNetwork: true,
      priority: systemNodeCritical,
      priorityClassName: 'system-node-critical',
      securityContext: { seccompProfile: { type: 'RuntimeDefault' } },
      volumes: [...volumes],
    },
  }
}

/** The process that runs in a static pod of the control plane. */
export function processOfStaticPod({ metadata, spec }: Pod): HostProcess {
  const [{ command = [], env = [] } = {}] = spec?.containers ?? []
  const environment = Object.fromEntries(env.map(each => [each.name, each.value ?? '']))
  return { name: metadata.name ?? '', command, environment }
}

/** The pod with another hash, so that the kubelet replaces it. The annotation is that of `kubectl rollout restart`. */
export function planStaticPodRestart(pod: Pod, time: string): Pod {
  const annotations = { ...pod.metadata.annotations, 'kubectl.kubernetes.io/restartedAt': time }
  return { ...pod, metadata: { ...pod.metadata, annotations } }
}

/** The pod with another image of this program; undefined if it has that image, or one that is not of this program. */
export function planStaticPodImage(pod: Pod, image: string): Pod | undefined {
  const containers = pod.spec?.containers ?? []
  const isOld = (each: Container): boolean =>
    each.image?.startsWith(`${repositoryOf(image)}:`) === true && each.image !== image
  if (!containers.some(isOld)) return undefined
  const updated = containers.map(each => (isOld(each) ? { ...each, image } : each))
  return { ...pod, spec: { ...pod.spec, containers: updated } }
}

function repositoryOf(image: string): string {
  return image.replace(/:[^:/]*$/, '')
}

/** Value of the priority class `system-node-critical`, which no API server is needed for. */
const systemNodeCritical = 2_000_001_000

interface PlanContainer {
  readonly component: StaticPodComponent
  readonly image: string
  readonly mounts: readonly VolumeMount[]
}

function planContainer(process: HostProcess, { component, image, mounts }: PlanContainer): Container {
  const { name, command, environment = {} } = process
  const { requests, capabilities = [], health } = component
  const endpoint = health(flagsOf(process))
  const { paths, port } = endpoint
  const env = Object.entries(environment).map(([key, value]) => ({ name: key, value }))
  const { readiness } = paths
  return {
    command: [...command],
    ...(env.length > 0 && { env }),
    image,
    // It is in no registry.
    imagePullPolicy: 'Never',
    livenessProbe: { ...probe(endpoint, paths.liveness), ...slowly, failureThreshold: 8 },
    name,
    ports: [{ containerPort: port, name: probePort, protocol: 'TCP' }],
    ...(readiness && {
      readinessProbe: { ...probe(endpoint, readiness), periodSeconds: 1, failureThreshold: 3 },
    }),
    resources: { requests: { ...requests } },
    securityContext: {
      allowPrivilegeEscalation: false,
      capabilities: { ...(capabilities.length > 0 && { add: [...capabilities] }), drop: ['ALL'] },
      readOnlyRootFilesystem: true,
    },
    startupProbe: { ...probe(endpoint, paths.startup), ...slowly, failureThreshold: 24 },
    volumeMounts: [...mounts],
  }
}

const probePort = 'probe-port'

const slowly = { initialDelaySeconds: 10, periodSeconds: 10 }

function probe({ scheme, host }: HealthEndpoint, path: string): Probe {
  return { httpGet: { host, path, port: probePort, scheme }, timeoutSeconds: 15 }
}

interface PlannedVolumes {
  readonly volumes: readonly Volume[]
  readonly mounts: readonly VolumeMount[]
}

/** The folders of the component, and each other file that a flag names, at the paths that they have on the host. */
function planVolumes(process: HostProcess, folders: readonly FolderVolume[]): PlannedVolumes {
  const volumes: Volume[] = []
  const mounts: VolumeMount[] = []
  const add = (type: 'DirectoryOrCreate' | 'File', { name, path, isWritten }: FolderVolume): void => {
    // Several flags may name one file.
    if (mounts.some(({ mountPath }) => mountPath === path)) return
    volumes.push({ hostPath: { path, type }, name })
    mounts.push({ mountPath: path, name, ...(isWritten ? {} : { readOnly: true }) })
  }
  for (const folder of folders) add('DirectoryOrCreate', folder)
  const isMounted = (path: string): boolean =>
    folders.some(folder => path === folder.path || path.startsWith(`${folder.path}/`))
  for (const { name, value } of flagList(process)) {
    if (!value.startsWith('/') || unmountedFlags.has(name) || isMounted(value)) continue
    const written = writtenFolders[name]?.(value)
    if (written !== undefined) add('DirectoryOrCreate', { name, path: written, isWritten: true })
    else add('File', { name: name.includes('kubeconfig') ? 'kubeconfig' : name, path: value })
  }
  return { volumes, mounts }
}

/** Folders of a host of which a component needs only parts. */
const unmountedFlags: ReadonlySet<string> = new Set(['data-dir', 'cert-dir'])

/** By the name of a flag, the folder of what the component creates. */
const writtenFolders: Readonly<Record<string, (value: string) => string>> = {
  'audit-log-path': dirname,
  'history-dir': path => path,
  'wal-dir': path => path,
}

function componentOf({ name }: HostProcess): StaticPodComponent | undefined {
  return Object.hasOwn(components, name) ? components[name as StaticPodName] : undefined
}

interface CommandFlag {
  readonly name: string
  readonly value: string
}

function flagList({ command }: HostProcess): readonly CommandFlag[] {
  return command.flatMap(word => {
    const { 1: name, 2: value } = /^--([^=]+)=(.*)$/s.exec(word) ?? []
    return name === undefined || value === undefined ? [] : [{ name, value }]
  })
}

/** The last of several values counts. */
function flagsOf(process: HostProcess): (name: string) => string | undefined {
  const flags = flagList(process)
  return name => flags.findLast(flag => flag.name === name)?.value
}
