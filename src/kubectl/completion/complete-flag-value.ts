import type { Factory } from '../factory.ts'
import { defaultCompletion, directives, type Completion } from './completion.ts'
import { containerNames, objectNames } from './object-names.ts'

export interface FlagValueRequest {
  /** Arguments of the command. */
  readonly args: readonly string[]
  /** Name of the flag. */
  readonly flag: string
  readonly prefix: string
}

const outputFormats: readonly string[] = [
  'json',
  'yaml',
  'kyaml',
  'name',
  'go-template',
  'go-template-file',
  'template',
  'templatefile',
  'jsonpath',
  'jsonpath-as-json',
  'jsonpath-file',
  'custom-columns',
  'custom-columns-file',
  'wide',
]

/** Values that do not depend on the cluster. */
const fixedValues: Readonly<Record<string, readonly string[]>> = {
  'cascade': ['background', 'orphan', 'foreground'],
  'dry-run': ['none', 'client', 'server'],
  'output': outputFormats,
  'restart': ['Always', 'OnFailure', 'Never'],
  'subresource': ['status', 'scale', 'resize'],
  'validate': ['strict', 'warn', 'ignore'],
}

export async function completeFlagValue(factory: Factory, request: FlagValueRequest): Promise<Completion> {
  const { flag, prefix } = request
  if (flag === 'filename') return { candidates: ['json', 'yaml', 'yml'], directive: directives.filterFiles }
  const values = await valuesOf(factory, request)
  if (values === undefined) return defaultCompletion
  return { candidates: values.filter(value => value.startsWith(prefix)), directive: directives.noFiles }
}

async function valuesOf(
  factory: Factory,
  { flag, args }: FlagValueRequest,
): Promise<readonly string[] | undefined> {
  switch (flag) {
    case 'container': {
      const [pod = ''] = args
      return containerNames(factory, pod.replace(/^pods?\//, ''))
    }
    case 'namespace':
      return objectNames(factory, 'namespaces')
    case 'context':
      return [...(await factory.kubeconfig()).contexts.keys()].sort()
    case 'cluster':
      return [...(await factory.kubeconfig()).clusters.keys()].sort()
    case 'user':
      return [...(await factory.kubeconfig()).users.keys()].sort()
    case 'node-name':
      return objectNames(factory, 'nodes')
  }
  return fixedValues[flag]
}
