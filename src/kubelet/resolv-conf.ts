/** Parser for resolv.conf. */
import type { DnsConfig } from '#/cri/cri.ts'

/** Longer files are truncated. */
const charactersMax = 1024 * 1024

/** Nameservers accumulate; the last search line wins; of options, the last of each name wins. */
export function parseResolvConf(text: string): DnsConfig {
  const servers: string[] = []
  let searches: readonly string[] = []
  const options = new Map<string, string>()
  for (const line of text.slice(0, charactersMax).split('\n')) {
    const [keyword = '', ...fields] = line.trim().split(/\s+/)
    if (keyword === 'nameserver' && fields[0] !== undefined) servers.push(fields[0])
    if (keyword === 'search') {
      searches = fields.filter(field => field !== '.').map(field => field.replace(/\.$/, ''))
    }
    if (keyword === 'options') {
      for (const option of fields) options.set(option.split(':', 1)[0] ?? '', option)
    }
  }
  return { servers, searches, options: [...options.values()] }
}
