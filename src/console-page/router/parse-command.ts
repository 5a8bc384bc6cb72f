/** What a line of the command bar asks for. */
export type Command =
  | { readonly type: 'view'; readonly path: string }
  | { readonly type: 'list'; readonly resource: string; readonly namespace: string | undefined }
  | {
      readonly type: 'object'
      readonly resource: string
      readonly namespace: string | undefined
      readonly name: string
    }
  | { readonly type: 'namespace'; readonly namespace: string }
  | { readonly type: 'unknown'; readonly message: string }

export interface CommandWords {
  /** Words of views, with the path of each. */
  readonly views: ReadonlyMap<string, string>
  /** True for what discovery knows: plural, short name. */
  readonly isResource: (word: string) => boolean
}

/**
 * Reads a command: `pods`, `deploy kube-system`, `pod/web-0`, `pod web-0 -n shop`, `ns shop`, `ns` for all namespaces,
 * `topology`. As in k9s, a word after a resource is a namespace; an object is named with a slash.
 */
export function parseCommand(line: string, { views, isResource }: CommandWords): Command {
  const words = line.trim().replace(/^:/, '').split(/\s+/).filter(Boolean)
  const flag = words.findIndex(word => word === '-n' || word === '--namespace')
  const flagged = flag === -1 ? undefined : words.splice(flag, 2)[1]
  const [word = '', argument] = words
  if (word === '') return { type: 'unknown', message: 'Type a resource, a view, or ns NAMESPACE.' }
  if (words.length > 2) return { type: 'unknown', message: `${words.slice(2).join(' ')}: too many words` }
  const lower = word.toLowerCase()
  if ((lower === 'ns' || lower === 'namespace') && (argument !== undefined || lower === 'ns')) {
    return { type: 'namespace', namespace: argument === 'all' ? '' : (argument ?? '') }
  }
  const view = views.get(lower)
  if (view !== undefined) return { type: 'view', path: view }
  const [resource = '', name] = word.split('/', 2)
  if (!isResource(resource)) return { type: 'unknown', message: `${resource}: no such resource or view` }
  if (name) return { type: 'object', resource, namespace: flagged ?? argument, name }
  const namespace = flagged ?? argument
  return { type: 'list', resource, namespace: namespace === 'all' ? '' : namespace }
}
