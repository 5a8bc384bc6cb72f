import type { Factory } from '../factory.ts'
import { defaultCompletion, directives, nothingToComplete, type Completion } from './completion.ts'
import { containerNames, objectNames } from './object-names.ts'

export interface ArgumentRequest {
  /** `rollout status`. */
  readonly path: string
  /** Arguments before. */
  readonly args: readonly string[]
  readonly prefix: string
}

/** Commands that take any types of resources, and then names. */
const anyTypes: ReadonlySet<string> = new Set([
  'annotate',
  'debug',
  'delete',
  'describe',
  'edit',
  'get',
  'label',
  'patch',
  'wait',
  'set env',
  'set resources',
])

/** Types that a command accepts. */
const typesOf: Readonly<Record<string, readonly string[]>> = {
  'autoscale': ['deployment', 'replicaset', 'replicationcontroller', 'statefulset'],
  'expose': ['pod', 'service', 'replicationcontroller', 'deployment', 'replicaset'],
  'rollout history': ['deployment', 'daemonset', 'statefulset'],
  'rollout pause': ['deployment'],
  'rollout restart': ['deployment', 'daemonset', 'statefulset'],
  'rollout resume': ['deployment'],
  'rollout status': ['deployment', 'daemonset', 'statefulset'],
  'rollout undo': ['deployment', 'daemonset', 'statefulset'],
  'scale': ['deployment', 'replicaset', 'replicationcontroller', 'statefulset'],
  'set image': [
    'daemonsets',
    'deployments',
    'pods',
    'cronjobs',
    'replicasets',
    'replicationcontrollers',
    'statefulsets',
  ],
  'taint': ['node'],
}

/** Commands whose arguments are names of one type. */
const namesOf: Readonly<Record<string, string>> = {
  'attach': 'pods',
  'certificate approve': 'certificatesigningrequests',
  'certificate deny': 'certificatesigningrequests',
  'cordon': 'nodes',
  'create token': 'serviceaccounts',
  'drain': 'nodes',
  'exec': 'pods',
  'logs': 'pods',
  'port-forward': 'pods',
  'top node': 'nodes',
  'top pod': 'pods',
  'uncordon': 'nodes',
}

const podTypes: readonly string[] = [
  'daemonsets/',
  'deployments/',
  'pods/',
  'jobs/',
  'replicasets/',
  'replicationcontrollers/',
  'services/',
  'statefulsets/',
]

const shells: readonly string[] = ['bash', 'zsh', 'fish', 'powershell']

export async function completeArgument(factory: Factory, request: ArgumentRequest): Promise<Completion> {
  const { path, args, prefix } = request
  if (path === 'completion') return offer(args.length === 0 ? shells : [], prefix)
  if (path === 'cp') return completeCopied(factory, request)
  const configured = await completeConfig(factory, request)
  if (configured !== undefined) return configured
  if (Object.hasOwn(namesOf, path)) return completeNames(factory, request)
  if (path === 'explain') return args.length === 0 ? completeTypes(factory, prefix) : nothingToComplete
  const types = typesOf[path]
  if (types === undefined && !anyTypes.has(path)) return defaultCompletion
  if (prefix.includes('/')) return completeSlashed(factory, prefix)
  const [type] = args
  const offered = types === undefined ? await completeTypes(factory, prefix) : offer(types, prefix)
  if (type === undefined) return offered
  // After TYPE/NAME, more of them follow.
  if (type.includes('/')) return path === 'set image' ? nothingToComplete : slashed(offered)
  const taken = new Set(args.slice(1))
  return offer(
    (await objectNames(factory, type)).filter(name => !taken.has(name)),
    prefix,
  )
}

function slashed({ candidates }: Completion): Completion {
  return {
    candidates: candidates.map(type => `${type}/`),
    directive: directives.noFiles + directives.noSpace,
  }
}

/** Pods as `POD:`, namespaces as `NAMESPACE/`, and local files, which the shell completes. */
async function completeCopied(factory: Factory, { args, prefix }: ArgumentRequest): Promise<Completion> {
  const isLocal = args.length > 0 || /^[./~]/.test(prefix) || prefix.includes(':')
  if (isLocal) return { candidates: [], directive: directives.noSpace }
  const [namespace, pods] = prefix.includes('/') ? [prefix.split('/')[0]!, true] : ['', false]
  const podNames = await objectNames(factory, 'pods', { ...(pods && { namespace }) })
  const candidates = pods
    ? podNames.map(name => `${namespace}/${name}:`)
    : [
        ...(await objectNames(factory, 'namespaces')).map(name => `${name}/`),
        ...podNames.map(name => `${name}:`),
        './',
        '/',
      ]
  return { candidates: candidates.filter(each => each.startsWith(prefix)), directive: directives.noSpace }
}

function offer(values: readonly string[], prefix: string): Completion {
  return { candidates: values.filter(value => value.startsWith(prefix)), directive: directives.noFiles }
}

/** Names of contexts, clusters and users. */
async function completeConfig(
  factory: Factory,
  { path, args, prefix }: ArgumentRequest,
): Promise<Completion | undefined> {
  const [, section = ''] = /^config (?:use|delete|rename|set|get)-(context|cluster|user)s?$/.exec(path) ?? []
  if (section === '') return undefined
  if (args.length > 0) return nothingToComplete
  const { contexts, clusters, users } = await factory.kubeconfig()
  const entries = { context: contexts, cluster: clusters, user: users }[section]
  return offer([...(entries ?? new Map<string, unknown>()).keys()].sort(), prefix)
}

/** Pods by name, or workloads as TYPE/NAME. */
async function completeNames(factory: Factory, { path, args, prefix }: ArgumentRequest): Promise<Completion> {
  const type = namesOf[path]!
  if (prefix.includes('/')) return completeSlashed(factory, prefix)
  const takesOne = type === 'pods' && path !== 'top pod'
  if (path === 'logs' && args.length === 1) return offer(await containerNames(factory, args[0]!), prefix)
  if ((takesOne || path === 'create token') && args.length > 0) return nothingToComplete
  const taken = new Set(args)
  const names = (await objectNames(factory, type)).filter(name => !taken.has(name) && name.startsWith(prefix))
  if (!takesOne) return { candidates: names, directive: directives.noFiles }
  const types = podTypes.filter(each => each.startsWith(prefix))
  const noSpace = names.length === 0 && types.length > 0 ? directives.noSpace : 0
  return { candidates: [...names, ...types], directive: directives.noFiles + noSpace }
}

/** Plural names of the types that can be read; of several groups, with the group. */
async function completeTypes(factory: Factory, prefix: string): Promise<Completion> {
  const before = prefix.slice(0, prefix.lastIndexOf(',') + 1)
  const partial = prefix.slice(before.length)
  try {
    const mappings = await (await factory.restMapper()).preferredResources()
    const names = mappings
      .filter(({ verbs }) => verbs.includes('get'))
      .map(({ plural, group }) => (group === '' ? plural : `${plural}.${group}`))
    return offer(
      [...new Set(names)].map(name => before + name),
      before + partial,
    )
  } catch {
    return nothingToComplete
  }
}

/** `pods/we`. */
async function completeSlashed(factory: Factory, prefix: string): Promise<Completion> {
  const [type = ''] = prefix.split('/')
  return offer(
    (await objectNames(factory, type)).map(name => `${type}/${name}`),
    prefix,
  )
}
