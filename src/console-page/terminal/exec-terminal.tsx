import { FitAddon } from '@xterm/addon-fit'
import { Terminal, type ITheme } from '@xterm/xterm'
import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { styleNonce } from '../components/style-nonce.ts'
import { openApiWebSocket } from '../data/api-request.ts'
import { isDark } from '../shell/theme.ts'
import { decodeMessage, encodeInput, encodeSize, execProtocol } from './exec-protocol.ts'

export interface ExecTerminalProps {
  readonly namespace: string
  readonly pod: string
  readonly container: string
  readonly command: readonly string[]
  readonly onState: (text: string) => void
}

const scrollbackLines = 5_000

/** Runs a command in a container while it is mounted. */
export function ExecTerminal({ onState, ...target }: ExecTerminalProps): JSX.Element {
  const element = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (!element.current) return undefined
    const terminal = openTerminal(element.current)
    const fit = new FitAddon()
    terminal.loadAddon(fit)
    fit.fit()
    const close = connect(terminal, target, onState)
    const observer = new ResizeObserver(() => fit.fit())
    observer.observe(element.current)
    const unsubscribe = isDark.subscribe(() => {
      terminal.options.theme = terminalTheme()
    })
    terminal.focus()
    return () => {
      unsubscribe()
      observer.disconnect()
      close()
      terminal.dispose()
    }
  }, [])
  // Keys belong to the command; those of the page are off while the terminal has the focus.
  return <div ref={element} class="exec-terminal" onKeyDown={event => event.stopPropagation()} />
}

function openTerminal(parent: HTMLElement): Terminal {
  const { fontFamily } = getComputedStyle(parent)
  const terminal = new Terminal({
    fontFamily,
    fontSize: 13,
    cursorBlink: !matchMedia('(prefers-reduced-motion: reduce)').matches,
    scrollback: scrollbackLines,
    screenReaderMode: true,
    theme: terminalTheme(),
  })
  terminal.attachCustomKeyEventHandler(event => {
    if (!(event.ctrlKey && event.key === ']')) return true
    document.querySelector<HTMLElement>('[role=tab][aria-selected=true]')?.focus()
    return false
  })
  withStyleNonce(() => terminal.open(parent))
  return terminal
}

/** xterm.js adds style elements and has no option for their nonce. */
function withStyleNonce(action: () => void): void {
  const nonce = styleNonce()
  const createElement = Reflect.get(document, 'createElement')
  const withNonce = (...parameters: Parameters<typeof createElement>): HTMLElement => {
    const element: HTMLElement = createElement.apply(document, parameters)
    if (element instanceof HTMLStyleElement) element.nonce = nonce
    return element
  }
  Reflect.set(document, 'createElement', withNonce)
  try {
    action()
  } finally {
    Reflect.deleteProperty(document, 'createElement')
  }
}

/** Browsers do not tell pages why a WebSocket was refused. */
const refusal = 'refused: the container is not running, or create on pods/exec is not permitted'

type Target = Omit<ExecTerminalProps, 'onState'>

/** Returns a function that ends the session. */
function connect(terminal: Terminal, target: Target, onState: (text: string) => void): () => void {
  onState('Connecting')
  let isEnded = false
  let isOpen = false
  const finish = (text: string): void => {
    if (isEnded) return
    isEnded = true
    onState(text)
    // The text may come from the server: it is printed without control characters.
    terminal.write(`\r\n\u001B[2m[${text.replaceAll(/\p{Cc}/gu, ' ')}]\u001B[0m\r\n`)
  }
  const socket = openApiWebSocket(execPath(target), [execProtocol])
  socket.binaryType = 'arraybuffer'
  const send = (message: Uint8Array): void => {
    if (socket.readyState === WebSocket.OPEN) socket.send(new Uint8Array(message))
  }
  const sendSize = (): void => send(encodeSize({ columns: terminal.cols, rows: terminal.rows }))
  socket.addEventListener('open', () => {
    isOpen = true
    onState('Connected')
    sendSize()
  })
  socket.addEventListener('message', ({ data }) => {
    const message = decodeMessage(new Uint8Array(data as ArrayBuffer))
    if (message.type === 'output') terminal.write(message.bytes)
    if (message.type === 'ended') finish(message.exit.message)
  })
  socket.addEventListener('close', ({ reason }) => finish(reason || (isOpen ? 'connection closed' : refusal)))
  terminal.onData(text => send(encodeInput(text)))
  terminal.onResize(sendSize)
  return () => {
    isEnded = true
    socket.close()
  }
}

function execPath({ namespace, pod, container, command }: Target): string {
  const parameters = new URLSearchParams({ container, stdin: 'true', stdout: 'true', tty: 'true' })
  for (const word of command) parameters.append('command', word)
  return `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(pod)}/exec?${parameters}`
}

function terminalTheme(): ITheme {
  const style = getComputedStyle(document.documentElement)
  const colour = (name: string): string => style.getPropertyValue(name).trim()
  return {
    background: colour('--surface'),
    foreground: colour('--text'),
    cursor: colour('--accent'),
    selectionBackground: colour('--selected'),
    red: colour('--bad'),
    green: colour('--good'),
    yellow: colour('--warn'),
    blue: colour('--busy'),
    brightRed: colour('--bad'),
    brightGreen: colour('--good'),
    brightYellow: colour('--warn'),
    brightBlue: colour('--accent'),
    white: colour('--text'),
    brightWhite: colour('--text'),
  }
}
