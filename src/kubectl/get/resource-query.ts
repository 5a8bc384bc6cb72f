import type { ResourceQuery } from '../resource/find-resources.ts'
import type { GetInvocation } from './get-flags.ts'

/** What the arguments and flags of `get` select. */
export function resourceQueryOf({ args, flags }: GetInvocation): ResourceQuery {
  const { filename, kustomize } = flags
  return {
    args,
    ...(filename && { filenames: filename }),
    ...(kustomize !== undefined && { kustomize }),
    recursive: flags.recursive ?? false,
    labelSelector: flags.selector,
    fieldSelector: flags['field-selector'],
    allNamespaces: flags['all-namespaces'],
    all: !flags.selector && !flags['field-selector'] && !hasNames(args),
    ignoreNotFound: flags['ignore-not-found'],
    subresource: flags.subresource,
    chunkSize: flags['chunk-size'],
  }
}

/** True for `pods web-0` and `pod/web-0`. */
function hasNames(args: readonly string[]): boolean {
  return args.length > 1 || args.some(each => each.includes('/'))
}
