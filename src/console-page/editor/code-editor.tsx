import {
  autocompletion,
  closeBrackets,
  closeBracketsKeymap,
  completionKeymap,
} from '@codemirror/autocomplete'
import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands'
import { yaml } from '@codemirror/lang-yaml'
import {
  bracketMatching,
  foldGutter,
  foldKeymap,
  indentOnInput,
  indentUnit,
  syntaxHighlighting,
} from '@codemirror/language'
import { lintGutter, setDiagnostics, type Diagnostic } from '@codemirror/lint'
import { highlightSelectionMatches, search, searchKeymap } from '@codemirror/search'
import { EditorState, type ChangeSpec, type Extension } from '@codemirror/state'
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  highlightSpecialChars,
  hoverTooltip,
  keymap,
  lineNumbers,
} from '@codemirror/view'
import { classHighlighter } from '@lezer/highlight'
import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { styleNonce } from '../components/style-nonce.ts'
import { completeManifest, describeField, type ManifestSchema } from './complete-manifest.ts'

export interface LineProblem {
  /** Zero-based. */
  readonly line: number
  readonly message: string
}

export interface CodeEditorProps {
  readonly label: string
  /** Another object replaces what is in the editor. */
  readonly original: { readonly text: string }
  readonly onInput: (text: string) => void
  readonly problems: readonly LineProblem[]
  readonly schema: () => ManifestSchema | undefined
  readonly isReadOnly: boolean
}

/** A YAML editor with completion from the schema of the object. */
export function CodeEditor({
  label,
  original,
  onInput,
  problems,
  schema,
  isReadOnly,
}: CodeEditorProps): JSX.Element {
  const parent = useRef<HTMLDivElement>(null)
  const view = useRef<EditorView | undefined>(undefined)
  const handlers = useRef({ onInput, schema })
  handlers.current = { onInput, schema }
  useEffect(() => {
    if (!parent.current) return undefined
    const listener = EditorView.updateListener.of(update => {
      if (update.docChanged) handlers.current.onInput(update.state.doc.toString())
    })
    const readSchema = (): ManifestSchema | undefined => handlers.current.schema()
    const state = EditorState.create({
      doc: original.text,
      extensions: [...extensions(label, readSchema), listener, EditorState.readOnly.of(isReadOnly)],
    })
    const editor = new EditorView({ state, parent: parent.current })
    view.current = editor
    return () => editor.destroy()
  }, [isReadOnly])
  useEffect(() => {
    const editor = view.current
    if (editor) editor.dispatch({ changes: replacement(editor.state.doc.toString(), original.text) })
  }, [original])
  useEffect(() => {
    const editor = view.current
    if (editor) editor.dispatch(setDiagnostics(editor.state, diagnosticsOf(editor, problems)))
  }, [problems])
  return <div ref={parent} class="code-editor" />
}

function extensions(label: string, schema: () => ManifestSchema | undefined): Extension[] {
  const nonce = styleNonce()
  return [
    ...(nonce ? [EditorView.cspNonce.of(nonce)] : []),
    EditorView.contentAttributes.of({ 'aria-label': label, 'tabindex': '0' }),
    EditorView.lineWrapping,
    lineNumbers(),
    foldGutter(),
    lintGutter(),
    highlightSpecialChars(),
    highlightActiveLine(),
    highlightActiveLineGutter(),
    highlightSelectionMatches(),
    history(),
    drawSelection(),
    indentOnInput(),
    indentUnit.of('  '),
    bracketMatching(),
    closeBrackets(),
    search({ top: true }),
    yaml(),
    syntaxHighlighting(classHighlighter),
    autocompletion({ override: [context => completeManifest(context, schema())], icons: false }),
    hoverTooltip((view, position) => {
      const text = describeField(view.state, position, schema())
      if (text === undefined) return null
      return { pos: position, create: () => ({ dom: tooltipElement(text) }) }
    }),
    keymap.of([
      ...closeBracketsKeymap,
      ...defaultKeymap,
      ...searchKeymap,
      ...historyKeymap,
      ...foldKeymap,
      ...completionKeymap,
      indentWithTab,
    ]),
  ]
}

/** Replaces only what differs, so that the cursor and the scroll position stay. */
function replacement(old: string, text: string): ChangeSpec {
  const shortest = Math.min(old.length, text.length)
  let from = 0
  while (from < shortest && old[from] === text[from]) from++
  let same = 0
  while (same < shortest - from && old.at(-1 - same) === text.at(-1 - same)) same++
  return { from, to: old.length - same, insert: text.slice(from, text.length - same) }
}

function tooltipElement(text: string): HTMLElement {
  const element = document.createElement('div')
  element.className = 'field-tooltip'
  element.textContent = text
  return element
}

function diagnosticsOf({ state }: EditorView, problems: readonly LineProblem[]): Diagnostic[] {
  return problems.map(({ line, message }) => {
    const { from, to } = state.doc.line(Math.min(line + 1, state.doc.lines))
    return { from, to, severity: 'error', message }
  })
}
