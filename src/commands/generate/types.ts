import { dirname, join, resolve } from 'node:path'
import type { CustomResourceDefinition } from '#/api/generated/apiextensions/v1.ts'
import { customResourceDefinitions } from '#/api/generated/apiextensions/v1-resources.ts'
import {
  boolFlag,
  describeFlags,
  parseFlags,
  stringArrayFlag,
  stringFlag,
  stringSliceFlag,
  UsageError,
  type FlagValues,
} from '#/base/flags.ts'
import { messageOf } from '#/base/message-of.ts'
import { clientOf } from '#/client/client.ts'
import { openConnection } from '#/client/connection.ts'
import { emitTypes } from '#/custom-resource/emit-types.ts'
import { readDefinitions } from '#/custom-resource/read-definitions.ts'
import { loadKubeconfig, settingsOf } from '#/kubeconfig/kubeconfig.ts'
import type { Command } from '#/command-line/command.ts'
import { connectHttp, environmentVariables, nodePlatform } from '#/platform/node.ts'
import type { Files, Platform } from '#/platform/platform.ts'

const flags = {
  crd: stringArrayFlag(
    'PATH',
    'manifest, or folder of manifests, with CustomResourceDefinitions; repeatable',
  ),
  cluster: boolFlag('read the CustomResourceDefinitions of a cluster'),
  kubeconfig: stringFlag('FILE', 'kubeconfig of the cluster (default: KUBECONFIG)'),
  group: stringSliceFlag('GROUPS', 'only these API groups (default: all)'),
  out: stringFlag('DIR', 'folder of the output (default: the current folder)'),
}

const help = `Usage: k8ts generate types (--crd PATH | --cluster) [--group GROUPS] [--out DIR]

Writes DIR/GROUP/VERSION.ts for each group and served version of the CustomResourceDefinitions: the types of the
objects, and a constant for each resource that the methods of a client take. The modules need the npm package k8ts.

  import { certificates } from './cert-manager.io/v1.ts'
  const certificate = await client.get(certificates, { namespace: 'default', name: 'web' })

Manifests may have several documents; those of other kinds are skipped. In folders, .yaml, .yml and .json files are
read. Fields with a default are optional, since clients need not write them.

${describeFlags(flags)}
Examples:
  k8ts generate types --crd cert-manager.crds.yaml --out src/api
  k8ts generate types --crd config/crd --crd vendor/crds --group example.com --out src/api
  k8ts generate types --cluster --kubeconfig ~/.kube/config --group gateway.networking.k8s.io --out src/api
`

type TypesFlags = FlagValues<typeof flags>

export const command: Command = {
  help,
  async run(parameters, terminal) {
    const given = parseFlags(parameters, flags)
    const { crd: paths = [], group: groups, out = '.' } = given
    if (paths.length > 0 === (given.cluster ?? false)) throw new UsageError('use either --crd or --cluster')
    const platform = nodePlatform({ log: { level: 'error', format: 'text' } })
    const all = given.cluster
      ? await readCluster(platform, given.kubeconfig)
      : await readPaths(platform.files, paths)
    const definitions = all.filter(({ spec }) => groups?.includes(spec.group) ?? true)
    requireDefinitions(definitions, groups)
    const modules = emitTypes(definitions, { command: commandLine(given) })
    for (const [name, text] of modules) {
      const path = resolve(out, name)
      await platform.files.makeFolder(dirname(path))
      await platform.files.write(path, text)
      terminal.write(`${join(out, name)}\n`)
    }
    return 0
  },
}

function requireDefinitions(
  definitions: readonly CustomResourceDefinition[],
  groups: readonly string[] = [],
): void {
  const missing = groups.find(group => definitions.every(({ spec }) => spec.group !== group))
  if (missing !== undefined) throw new Error(`no CustomResourceDefinition of group ${missing} found`)
  if (definitions.length === 0) throw new Error('no CustomResourceDefinition found')
  const names = definitions.map(({ metadata }) => metadata.name)
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined) throw new Error(`CustomResourceDefinition ${twice} was found twice`)
}

/** For the header of the output; without what differs between machines. */
function commandLine({ crd = [], group, cluster }: TypesFlags): string {
  const words = [
    ...crd.map(path => `--crd ${path}`),
    ...(cluster ? ['--cluster'] : []),
    ...(group ? [`--group ${group.join(',')}`] : []),
  ]
  return ['k8ts generate types', ...words].join(' ').replaceAll(/\s+/g, ' ')
}

async function readCluster(
  platform: Platform,
  explicitPath: string | undefined,
): Promise<readonly CustomResourceDefinition[]> {
  const sources = { environment: environmentVariables(), workingFolder: resolve() }
  const kubeconfig = await loadKubeconfig(platform, { ...sources, ...(explicitPath && { explicitPath }) })
  const settings = settingsOf(kubeconfig)
  if (settings === undefined) throw new Error('no cluster configured: set KUBECONFIG or --kubeconfig')
  await using transport = await openConnection({ platform, connect: connectHttp, settings })
  const client = clientOf({ platform, transport, userAgent: 'k8ts-generate' })
  return (await client.listAll(customResourceDefinitions)).items
}

async function readPaths(
  files: Files,
  paths: readonly string[],
): Promise<readonly CustomResourceDefinition[]> {
  const definitions: CustomResourceDefinition[] = []
  for (const given of paths) {
    for (const path of await manifestsBelow(files, resolve(given))) {
      try {
        definitions.push(...readDefinitions(await files.read(path)))
      } catch (error) {
        throw new Error(`${path}: ${messageOf(error)}`, { cause: error })
      }
    }
  }
  return definitions
}

/** A file that is named is read whatever its extension. */
async function manifestsBelow(files: Files, path: string): Promise<readonly string[]> {
  const status = await files.stat(path)
  if (status === undefined) throw new Error(`${path} does not exist`)
  if (!status.isFolder) return [path]
  const names = await files.list(path)
  const found = await Promise.all(
    names.map(async name => {
      const child = join(path, name)
      const isFolder = (await files.stat(child))?.isFolder ?? false
      return isFolder || /\.(?:ya?ml|json)$/.test(name) ? manifestsBelow(files, child) : []
    }),
  )
  return found.flat()
}
