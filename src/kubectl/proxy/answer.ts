import type { HttpExchange } from '#/platform/http.ts'

export function answerText(exchange: HttpExchange, status: number, text: string): void {
  exchange.respond(status, {
    'content-type': 'text/plain; charset=utf-8',
    'x-content-type-options': 'nosniff',
  })
  exchange.end(exchange.method === 'HEAD' ? [] : [Buffer.from(`${text}\n`)])
}

/** To another path of this server. */
export function redirect(exchange: HttpExchange, location: string): void {
  exchange.respond(307, { location, 'content-type': 'text/html; charset=utf-8' })
  const link = `<a href="${escapeHtml(location)}">Temporary Redirect</a>.\n\n`
  exchange.end(exchange.method === 'HEAD' ? [] : [Buffer.from(link)])
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&#34;',
  "'": '&#39;',
}

export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, character => entities[character]!)
}
