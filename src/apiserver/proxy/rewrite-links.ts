/** Attributes that contain URLs, by element name. */
const linkAttributes: ReadonlyMap<string, readonly string[]> = new Map([
  ['a', ['href']],
  ['applet', ['codebase']],
  ['area', ['href']],
  ['audio', ['src']],
  ['base', ['href']],
  ['blockquote', ['cite']],
  ['body', ['background']],
  ['button', ['formaction']],
  ['command', ['icon']],
  ['del', ['cite']],
  ['embed', ['src']],
  ['form', ['action']],
  ['frame', ['longdesc', 'src']],
  ['head', ['profile']],
  ['html', ['manifest']],
  ['iframe', ['longdesc', 'src']],
  ['img', ['longdesc', 'src', 'usemap']],
  ['input', ['src', 'usemap', 'formaction']],
  ['ins', ['cite']],
  ['link', ['href']],
  ['object', ['classid', 'codebase', 'data', 'usemap']],
  ['q', ['cite']],
  ['script', ['src']],
  ['source', ['src']],
  ['video', ['poster', 'src']],
])

/** Elements with raw text content. */
const textElements: ReadonlySet<string> = new Set([
  'iframe',
  'noembed',
  'noframes',
  'script',
  'style',
  'textarea',
  'title',
  'xmp',
])

/**
 * Rewrites the URLs in attributes of an HTML page and changes nothing else. Runs in one linear pass for any
 * input.
 */
export function rewriteLinks(html: string, rewrite: (url: string) => string): string {
  const parts: string[] = []
  let copied = 0
  let at = 0
  const replace = (start: number, end: number): void => {
    const before = html.slice(start, end)
    const after = rewrite(before)
    if (after === before) return
    parts.push(html.slice(copied, start), after)
    copied = end
  }
  for (;;) {
    const open = html.indexOf('<', at)
    if (open === -1) break
    const element = /[a-z][a-z0-9]*/iy
    element.lastIndex = open + 1
    const [name] = element.exec(html) ?? []
    if (name === undefined) {
      at = endOfMarkup(html, open)
      continue
    }
    const links = linkAttributes.get(name.toLowerCase()) ?? []
    at = scanTag(html, element.lastIndex, (attribute, start, end) => {
      if (links.includes(attribute)) replace(start, end)
    })
    if (textElements.has(name.toLowerCase())) at = endOfText(html, at, name)
  }
  return parts.join('') + html.slice(copied)
}

/** The position after a comment, declaration, end tag or stray `<`. */
function endOfMarkup(html: string, open: number): number {
  if (html.startsWith('<!--', open)) return after(html, '-->', open + 4)
  return /[!?/]/.test(html[open + 1] ?? '') ? after(html, '>', open + 2) : open + 1
}

function endOfText(html: string, from: number, name: string): number {
  const end = new RegExp(`</${name}`, 'gi')
  end.lastIndex = from
  return end.exec(html)?.index ?? html.length
}

function after(html: string, text: string, from: number): number {
  const found = html.indexOf(text, from)
  return found === -1 ? html.length : found + text.length
}

/** Calls `onAttribute` with the range of each attribute's value, and returns the end of the tag. */
function scanTag(
  html: string,
  from: number,
  onAttribute: (name: string, start: number, end: number) => void,
): number {
  let at = from
  for (;;) {
    at = skip(html, at, /[\s/]*/y)
    if (at >= html.length) return at
    if (html[at] === '>') return at + 1
    const nameEnd = skip(html, at + 1, /[^\s=/>]*/y)
    const name = html.slice(at, nameEnd).toLowerCase()
    const sign = skip(html, nameEnd, /\s*/y)
    if (html[sign] !== '=') {
      at = nameEnd
      continue
    }
    const value = skip(html, sign + 1, /\s*/y)
    const quote = html[value]
    const isQuoted = quote === '"' || quote === "'"
    const start = isQuoted ? value + 1 : value
    const end = isQuoted ? endOfValue(html, quote, start) : skip(html, start, /[^\s>]*/y)
    onAttribute(name, start, end)
    at = isQuoted ? end + 1 : end
  }
}

function endOfValue(html: string, quote: string, start: number): number {
  const end = html.indexOf(quote, start)
  return end === -1 ? html.length : end
}

function skip(html: string, from: number, pattern: RegExp): number {
  pattern.lastIndex = from
  pattern.exec(html)
  return Math.max(pattern.lastIndex, from)
}
