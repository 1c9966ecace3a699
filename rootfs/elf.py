"""Reads from an ELF file what the loader would: interpreter, needed libraries, search path.
It refuses to follow anything: it opens one file and answers about that file alone."""
import struct

PT_LOAD, PT_DYNAMIC, PT_INTERP = 1, 2, 3
DT_NEEDED, DT_STRTAB, DT_RPATH, DT_RUNPATH = 1, 5, 15, 29


class Elf:
    """machine (class, byte order and e_machine), type, interp, needed, runpath; all empty for a static file."""

    def __init__(self, path):
        with open(path, "rb") as f:
            data = f.read()
        if data[:4] != b"\x7fELF":
            raise ValueError("not an ELF file: " + path)
        wide, order = data[4] == 2, "<" if data[5] == 1 else ">"
        self._data = data
        self.type, machine = struct.unpack_from(order + "HH", data, 16)
        self.machine = (data[4], data[5], machine)
        self.interp, self.needed, self.runpath = "", [], []
        phoff, = struct.unpack_from(order + ("Q" if wide else "I"), data, 32 if wide else 28)
        phentsize, phnum = struct.unpack_from(order + "HH", data, 54 if wide else 42)
        loads, dynamic = [], None
        for i in range(phnum):
            at = phoff + i * phentsize
            if wide:
                kind, _, offset, vaddr, _, size = struct.unpack_from(order + "IIQQQQ", data, at)
            else:
                kind, offset, vaddr, _, size = struct.unpack_from(order + "IIIII", data, at)
            if kind == PT_LOAD:
                loads.append((vaddr, offset, size))
            elif kind == PT_DYNAMIC:
                dynamic = (offset, size)
            elif kind == PT_INTERP:
                self.interp = data[offset:offset + size].rstrip(b"\0").decode()
        if dynamic:
            self._read_dynamic(order + ("qQ" if wide else "iI"), *dynamic, loads)

    def _read_dynamic(self, form, offset, size, loads):
        entries = []
        for tag, value in struct.iter_unpack(form, self._data[offset:offset + size]):
            if tag == 0:
                break
            entries.append((tag, value))
        strtab = next(value for tag, value in entries if tag == DT_STRTAB)
        base = next(strtab - vaddr + off for vaddr, off, length in loads if vaddr <= strtab < vaddr + length)

        def text(at):
            return self._data[base + at:self._data.index(b"\0", base + at)].decode()

        self.needed = [text(value) for tag, value in entries if tag == DT_NEEDED]
        for tag, value in entries:
            if tag in (DT_RPATH, DT_RUNPATH):
                self.runpath = [d for d in text(value).split(":") if d]


def is_elf(path):
    with open(path, "rb") as f:
        return f.read(4) == b"\x7fELF"
