/** The target in a proxy path: `name`, `name:port` or `scheme:name:port`. */
export interface TargetName {
  readonly scheme: '' | 'http' | 'https'
  readonly name: string
  /** Port number or name; empty for the default. */
  readonly port: string
}

/** Undefined if the syntax is invalid. */
export function parseTargetName(text: string): TargetName | undefined {
  const parts = text.split(':')
  const [scheme = '', name = '', port = ''] = parts.length === 3 ? parts : ['', ...parts]
  if (parts.length > 3 || name === '') return undefined
  return scheme === '' || scheme === 'http' || scheme === 'https' ? { scheme, name, port } : undefined
}
