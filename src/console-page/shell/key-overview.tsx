import type { JSX } from 'preact'
import { currentBindings } from '../keyboard/key-bindings.ts'
import { Modal } from './modal.tsx'

const keyTitles: Readonly<Record<string, string>> = {
  ArrowDown: '↓',
  ArrowUp: '↑',
  ArrowLeft: '←',
  ArrowRight: '→',
  PageDown: 'Page ↓',
  PageUp: 'Page ↑',
  Escape: 'Esc',
}

/** All keys that are in effect where it is opened. */
export function KeyOverview({ onClose }: { readonly onClose: () => void }): JSX.Element {
  return (
    <Modal label="Keys" onClose={onClose}>
      <header class="modal-header">
        <h2>Keys</h2>
        <button type="button" class="button" onClick={onClose}>
          Close
        </button>
      </header>
      <dl class="key-list">
        {currentBindings().map(({ keys, title }) => (
          <div key={keys}>
            <dt>
              {keys.split(' ').map(key => (
                <kbd key={key}>{keyTitles[key] ?? key}</kbd>
              ))}
            </dt>
            <dd>{title}</dd>
          </div>
        ))}
      </dl>
    </Modal>
  )
}
