import { resolve } from 'node:path'
import { isObject, type JsonObject } from '#/api/text/json-object.ts'
import { messageOf } from '#/base/message-of.ts'
import { resourcePath } from '#/client/resource-path.ts'
import { defineCommand, type Invocation } from '../../command.ts'
import { allNamespacesFlag } from '../../selection-flags.ts'
import { durationFlag, stringFlag, stringSliceFlag } from '../../flag-types.ts'
import { objectPrinterOf, printFlags, type ObjectPrinter } from '../../printers/object-printer.ts'
import { builtInResources } from '../../resource/built-in-resources.ts'
import { itemsOf } from '../../resource/find-resources.ts'
import { metadataText } from '../../resource/info.ts'

const flags = {
  ...printFlags,
  'output': { ...printFlags.output, shownDefault: `'json'` },
  'all-namespaces': allNamespacesFlag,
  'namespaces': stringSliceFlag('Namespaces to dump; by default the current one and kube-system.'),
  'output-directory': stringFlag(
    "Folder of the files that are written; without it, and with '-', the output goes to stdout.",
  ),
  'pod-running-timeout': durationFlag('Time to wait until a pod is running.', { shownDefault: '20s' }),
}

export const command = defineCommand({
  usage: 'dump [flags]',
  description: `Dumps the state of the cluster for a diagnosis: nodes, events, workloads, services and pods,
and the logs of all containers. Everything goes to stdout, or to files in the folder given by
--output-directory. By default, the current namespace and kube-system are dumped.`,
  examples: `  # To stdout
  kubectl cluster-info dump

  # To files
  kubectl cluster-info dump --output-directory=cluster-state

  # All namespaces
  kubectl cluster-info dump --all-namespaces

  # Some namespaces
  kubectl cluster-info dump --namespaces default,kube-system --output-directory=cluster-state`,
  flags,
  async run(invocation) {
    const { factory, streams } = invocation
    const { 'output-directory': folder = '', output = 'json' } = invocation.flags
    if ((invocation.flags['pod-running-timeout'] ?? 1) <= 0)
      throw new Error('--pod-running-timeout must be higher than zero')
    const printer = await objectPrinterOf({
      flags: { ...invocation.flags, output },
      machine: factory.machine,
      keepsFieldOrder: true,
    })
    const dump = new Dump({
      invocation,
      printer: printer!,
      extension: { json: '.json', yaml: '.yaml' }[output] ?? '.txt',
    })
    await dump.list('nodes', builtInResources.nodes)
    for (const namespace of await namespacesOf(invocation)) await dump.namespace(namespace)
    if (folder !== '' && folder !== '-') streams.write(`Cluster info dumped to ${folder}\n`)
  },
})

type DumpInvocation = Invocation<typeof flags>

/** In the order of the files that they make. */
const dumpedResources = {
  'events': builtInResources.events,
  'replication-controllers': builtInResources.replicationControllers,
  'services': builtInResources.services,
  'daemonsets': builtInResources.daemonSets,
  'deployments': builtInResources.deployments,
  'replicasets': builtInResources.replicaSets,
  'pods': builtInResources.pods,
}

async function namespacesOf({ factory, flags: given }: DumpInvocation): Promise<readonly string[]> {
  if (given['all-namespaces']) {
    const resources = await factory.resources()
    const list = await resources.get({ mapping: builtInResources.namespaces })
    return itemsOf(list).map(item => metadataText(item, 'name'))
  }
  const { namespaces = [] } = given
  return namespaces.length > 0 ? namespaces : ['kube-system', (await factory.namespace()).namespace]
}

interface DumpOptions {
  readonly invocation: DumpInvocation
  readonly printer: ObjectPrinter
  readonly extension: string
}

class Dump {
  readonly #options: DumpOptions

  constructor(options: DumpOptions) {
    this.#options = options
  }

  async namespace(namespace: string): Promise<void> {
    for (const [name, mapping] of Object.entries(dumpedResources)) {
      const list = await this.list(`${namespace}/${name}`, mapping, namespace)
      if (name !== 'pods') continue
      for (const pod of itemsOf(list)) await this.#logs(pod, namespace)
    }
  }

  async list(file: string, mapping: (typeof dumpedResources)['pods'], namespace = ''): Promise<JsonObject> {
    const { invocation, printer, extension } = this.#options
    const resources = await invocation.factory.resources()
    const list = await resources.get({ mapping, ...(namespace && { namespace }) })
    await this.#write(file + extension, printer(list))
    return list
  }

  /** Of all containers, regular ones last. */
  async #logs(pod: JsonObject, namespace: string): Promise<void> {
    const name = metadataText(pod, 'name')
    const spec = isObject(pod['spec']) ? pod['spec'] : {}
    let text = ''
    for (const container of [...named(spec['initContainers']), ...named(spec['containers'])]) {
      const place = `logs for container ${container} of pod ${namespace}/${name}`
      const log = await this.#log({ namespace, name, container })
      text += `==== START ${place} ====\n${log}==== END ${place} ====\n`
    }
    await this.#write(`${namespace}/${name}/logs.txt`, text)
  }

  async #log({ namespace, name, container }: ContainerName): Promise<string> {
    const client = await this.#options.invocation.factory.client()
    const path = resourcePath(builtInResources.pods, { namespace, name, subresource: 'log' })
    try {
      const response = await client.raw({ method: 'GET', path, query: new URLSearchParams({ container }) })
      const pieces: Uint8Array[] = []
      for await (const piece of response.bytes()) pieces.push(piece)
      return Buffer.concat(pieces).toString()
    } catch (error) {
      return `Request log error: ${messageOf(error)}\n`
    }
  }

  async #write(file: string, text: string | Uint8Array): Promise<void> {
    const { factory, streams, flags: given } = this.#options.invocation
    const { 'output-directory': folder = '' } = given
    if (folder === '' || folder === '-') {
      streams.write(text)
      return streams.stdout.drained()
    }
    const { platform, workingFolder } = factory.machine
    const path = resolve(workingFolder, folder, file)
    await platform.files.makeFolder(path.slice(0, path.lastIndexOf('/')), { mode: 0o755 })
    await platform.files.write(path, text, { mode: 0o644 })
  }
}

interface ContainerName {
  readonly namespace: string
  readonly name: string
  readonly container: string
}

function named(containers: JsonObject[string] | undefined): readonly string[] {
  if (!Array.isArray(containers)) return []
  return containers.flatMap(each =>
    isObject(each) && typeof each['name'] === 'string' ? [each['name']] : [],
  )
}
