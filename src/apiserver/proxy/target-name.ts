/** Which port of what a proxy is asked for: `name`, `name:port` or `scheme:name:port`. */
export interface TargetName {
  readonly scheme: '' | 'http' | 'https'
  readonly name: string
  /** A number or the name of a port; empty when the first one will do. */
  readonly port: string
}

/** Undefined when it is none of these. */
export function parseTargetName(text: string): TargetName | undefined {
  const parts = text.split(':')
  const [scheme = '', name = '', port = ''] = parts.length === 3 ? parts : ['', ...parts]
  if (parts.length > 3 || name === '') return undefined
  return scheme === '' || scheme === 'http' || scheme === 'https' ? { scheme, name, port } : undefined
}
